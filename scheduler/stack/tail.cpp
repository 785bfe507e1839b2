#include "scheduler/stack/tail.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "scheduler/config/json.h"
#include "scheduler/stack/leaf.h"

namespace sluice {

namespace {

constexpr auto kSlower = [](const IoRecord& a, const IoRecord& b) {
  return a.total_ns() > b.total_ns();
};

std::string quoted(const std::string& text) {
  return boost::json::serialize(boost::json::string(text));
}

/// A complete event ("X"). Times in microseconds, as the format wants them.
void slice(std::string& out, const char* what, std::size_t process, const IoRecord& record,
           std::uint64_t from_ns, std::uint64_t to_ns, std::uint64_t base_ns) {
  char text[320];
  std::snprintf(
      text, sizeof text,
      ",\n{\"name\":\"%s %s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%zu,\"tid\":%u,"
      "\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"offset\":%llu,\"length\":%u,\"class\":\"%s\","
      "\"bypassed\":%s,\"ahead\":%u,\"result\":%d,\"file\":",
      word(record.op), what, what, process, record.slot,
      static_cast<double>(from_ns - base_ns) / 1e3, static_cast<double>(to_ns - from_ns) / 1e3,
      static_cast<unsigned long long>(record.offset), record.length, name(record.io_class),
      record.path == Path::bypassed ? "true" : "false", record.ahead, record.result);
  out += text;
  out += quoted(record.leaf->path()) + "}}";
}

}  // namespace

const char* word(Op op) noexcept {
  switch (op) {
    case Op::read: return "read";
    case Op::write: return "write";
    case Op::flush:
    case Op::data_sync: return "flush";
    case Op::trim: return "trim";
  }
  return "?";
}

Tail::Tail(unsigned most)
    : most_(most), mark_ns_(most > 0 ? 0 : std::numeric_limits<std::uint64_t>::max()) {
  heap_.reserve(most);
}

void Tail::offer(const IoRecord& record) {
  if (record.total_ns() < mark_ns_) return;
  if (heap_.size() == most_) {
    std::pop_heap(heap_.begin(), heap_.end(), kSlower);
    heap_.pop_back();
  }
  heap_.push_back(record);
  std::push_heap(heap_.begin(), heap_.end(), kSlower);
  if (heap_.size() == most_) mark_ns_ = heap_.front().total_ns() + 1;
}

std::vector<IoRecord> Tail::sorted() const {
  std::vector<IoRecord> out = heap_;
  std::sort(out.begin(), out.end(), kSlower);
  return out;
}

void TraceRing::add(const IoRecord& record) {
  if (ring_.size() < length_) {
    ring_.push_back(record);
    return;
  }
  ring_[next_] = record;
  next_ = (next_ + 1) % length_;
}

std::vector<IoRecord> TraceRing::take() {
  std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(next_), ring_.end());
  return std::move(ring_);
}

std::string trace_text(const std::vector<const TracedJob*>& jobs) {
  std::uint64_t base_ns = std::numeric_limits<std::uint64_t>::max();
  for (const TracedJob* job : jobs) {
    for (const IoRecord& record : job->records) base_ns = std::min(base_ns, record.arrived_ns);
  }
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (i > 0) out += ",\n";
    out += "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":" + std::to_string(i + 1) +
           ",\"args\":{\"name\":" + quoted(jobs[i]->name) + "}}";
    for (const IoRecord& record : jobs[i]->records) {
      if (record.issued_ns > record.arrived_ns) {
        slice(out, "queue", i + 1, record, record.arrived_ns, record.issued_ns, base_ns);
      }
      slice(out, "device", i + 1, record, record.issued_ns, record.found_ns, base_ns);
    }
  }
  return out + "\n]}\n";
}

}  // namespace sluice
