// CrashLog: what a model device's media hold, and what a power cut makes of the rest.
//
// Fault model. Promised, as by a drive that keeps to its specification:
//   - A sector (logical block) is atomic: it holds one version whole, never a mix of two.
//   - What a flush covers survives. A flush covers the writes and trims whose completion had been
//     returned by poll() before the flush was committed: those, and no others (a real drive may
//     cover more; a program must not count on it). It covers them once its own completion has
//     been returned by poll(); a flush in flight at the crash promises nothing.
//   - A sector that nobody wrote to since does not change.
//   - Without write_cache a write is durable at its completion.
// Not promised, and therefore made to happen. Every write or trim that no flush has covered,
// completed or in flight, meets a fate of its own:
//   - lost: none of its sectors reach the media;
//   - kept: all do;
//   - torn: each sector does or does not, at random.
// As fates are independent, a later write may be there without an earlier one, and an older version
// of a sector may outlive a newer one: whatever reordering can do. How likely each fate is is drawn
// anew for every crash, so that over many seeds clean cuts (all lost, all kept) are met as well as
// mixtures.
// Not modelled here: errors, misdirected writes, rotten bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "engine/devices/sparse_memory.h"
#include "scheduler/base/prng.h"

namespace sluice {

/// Threads: one at a time (ModelStore's lock). Memory grows with what no flush has covered.
class CrashLog {
 public:
  using RecordId = std::uint64_t;

  CrashLog(SparseMemory durable, std::uint32_t sector_bytes)
      : durable_(std::move(durable)), sector_bytes_(sector_bytes) {}

  /// A change is at the device: it may reach the media from now on. `data` null: zeros (trim).
  RecordId begin(const std::byte* data, std::uint64_t offset, std::uint64_t length);
  /// It is visible now. False: it was in flight at a crash, which has settled its fate.
  bool complete(RecordId id);

  /// What a flush that is committed now covers, to be passed to cover() at its completion.
  std::uint64_t covered_now() const noexcept { return next_ordinal_; }
  void cover(std::uint64_t ordinals);

  /// Settles every fate; the media hold the outcome. Calls `changed` with each range that may
  /// differ from what was visible before, and with the media's bytes there.
  using Changed =
      std::function<void(std::uint64_t offset, const std::byte* data, std::uint64_t length)>;
  void crash(Prng& prng, const Changed& changed);

 private:
  struct Record {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::uint64_t ordinal = 0;    ///< order of completion
    std::vector<std::byte> data;  ///< `length` bytes; empty: zeros
  };
  void apply(const Record& record, std::uint64_t from, std::uint64_t length);
  std::vector<Record> take_all();

  SparseMemory durable_;
  const std::uint32_t sector_bytes_;
  std::unordered_map<RecordId, Record> in_flight_;
  std::deque<Record> completed_;  ///< by ordinal
  RecordId next_id_ = 1;
  std::uint64_t next_ordinal_ = 0;
};

}  // namespace sluice
