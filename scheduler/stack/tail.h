// Tail: a job's slowest I/Os, and its last ones for a trace, each with where its time went.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/io/request.h"

namespace sluice {

class Leaf;

/// One ended I/O. Times by the stack's clock.
struct IoRecord {
  std::uint64_t arrived_ns = 0;  ///< handed to the stack
  std::uint64_t issued_ns = 0;   ///< handed to the device
  std::uint64_t found_ns = 0;    ///< completion seen
  std::uint64_t told_ns = 0;     ///< told to fio
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t ahead = 0;  ///< the job's own I/Os at the device when it was issued
  std::uint32_t slot = 0;
  std::int32_t result = 0;
  Op op = Op::read;
  IoClass io_class = IoClass::sync_read;
  Path path = Path::bypassed;
  const Leaf* leaf = nullptr;

  /// What fio calls clat.
  std::uint64_t total_ns() const noexcept { return found_ns - arrived_ns; }
};

/// Threads: one. Allocates in the constructor only.
class Tail {
 public:
  explicit Tail(unsigned most);

  /// Totals below this don't enter.
  std::uint64_t mark_ns() const noexcept { return mark_ns_; }
  /// Takes it in place of the fastest, when it is slower.
  void offer(const IoRecord& record);
  /// The slowest first.
  std::vector<IoRecord> sorted() const;

 private:
  const std::size_t most_;
  std::vector<IoRecord> heap_;  ///< the fastest on top
  std::uint64_t mark_ns_;
};

/// The last `length` I/Os of a job; 0: none. Threads: one. Allocates in the constructor only.
class TraceRing {
 public:
  explicit TraceRing(unsigned length) : length_(length) { ring_.reserve(length); }
  bool on() const noexcept { return length_ > 0; }
  void add(const IoRecord& record);
  /// In the order in which they ended.
  std::vector<IoRecord> take();

 private:
  const std::size_t length_;
  std::vector<IoRecord> ring_;
  std::size_t next_ = 0;
};

/// One job's part of a trace file.
struct TracedJob {
  std::string name;
  std::vector<IoRecord> records;
};

/// The file of trace=: Chrome's JSON object format, as Perfetto and chrome://tracing read it. A
/// process a job, a thread a slot, a slice for the time in the queue and one for that at the
/// device.
std::string trace_text(const std::vector<const TracedJob*>& jobs);

const char* word(Op op) noexcept;

}  // namespace sluice
