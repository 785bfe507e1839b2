#include "engine/devices/model_crash.h"

#include <algorithm>
#include <cstring>

namespace sluice {

CrashLog::RecordId CrashLog::begin(const std::byte* data, std::uint64_t offset,
                                   std::uint64_t length) {
  const RecordId id = next_id_++;
  Record record{.offset = offset, .length = length};
  if (data != nullptr) record.data.assign(data, data + length);
  in_flight_.emplace(id, std::move(record));
  return id;
}

bool CrashLog::complete(RecordId id) {
  const auto found = in_flight_.find(id);
  if (found == in_flight_.end()) return false;
  found->second.ordinal = next_ordinal_++;
  completed_.push_back(std::move(found->second));
  in_flight_.erase(found);
  return true;
}

void CrashLog::cover(std::uint64_t ordinals) {
  while (!completed_.empty() && completed_.front().ordinal < ordinals) {
    apply(completed_.front(), 0, completed_.front().length);
    completed_.pop_front();
  }
}

void CrashLog::apply(const Record& record, std::uint64_t from, std::uint64_t length) {
  std::byte* const media = durable_.data() + record.offset + from;
  if (record.data.empty()) {
    std::memset(media, 0, length);
  } else {
    std::memcpy(media, record.data.data() + from, length);
  }
}

// Completed ones in their order, then those in flight by id: a map's own order would differ
// between runs of one seed.
std::vector<CrashLog::Record> CrashLog::take_all() {
  std::vector<RecordId> ids;
  for (const auto& entry : in_flight_) ids.push_back(entry.first);
  std::sort(ids.begin(), ids.end());
  std::vector<Record> all(std::make_move_iterator(completed_.begin()),
                          std::make_move_iterator(completed_.end()));
  for (const RecordId id : ids) all.push_back(std::move(in_flight_.at(id)));
  completed_.clear();
  in_flight_.clear();
  return all;
}

void CrashLog::crash(Prng& prng, const Changed& changed) {
  const std::vector<Record> records = take_all();
  const std::uint64_t lost = prng.below(4);
  const std::uint64_t kept = prng.below(4);
  const std::uint64_t torn = lost + kept == 0 ? 1 : prng.below(4);
  for (const Record& record : records) {
    const std::uint64_t fate = prng.below(lost + kept + torn);
    if (fate < lost) continue;
    if (fate < lost + kept) {
      apply(record, 0, record.length);
      continue;
    }
    for (std::uint64_t from = 0; from < record.length; from += sector_bytes_) {
      if (prng.chance(0.5)) apply(record, from, sector_bytes_);
    }
  }
  for (const Record& record : records) {
    changed(record.offset, durable_.data() + record.offset, record.length);
  }
}

}  // namespace sluice
