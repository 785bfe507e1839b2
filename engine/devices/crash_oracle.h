// CrashOracle: what each sector may hold after a crash, kept apart from the code that decides it.
// The rules are those of model_crash.h, sector by sector instead of write by write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace sluice {

/// A stamp names one change; every sector that it touches holds it. 0: zeros. Threads: one.
class CrashOracle {
 public:
  using Stamp = std::uint64_t;

  /// How often each outcome was seen, so that a test can tell that it tested something.
  struct Seen {
    unsigned lost = 0;       ///< an unflushed version exists, the flushed one is there
    unsigned newest = 0;     ///< the newest of several
    unsigned older = 0;      ///< one that was overwritten before the crash
    unsigned in_flight = 0;  ///< of a change that had not ended
    unsigned torn = 0;       ///< changes of which some sectors are there and others are not
    unsigned clean = 0;      ///< crashes that lost every change that no flush covers, some at least
  };

  explicit CrashOracle(std::uint64_t sectors) : sectors_(sectors) {}

  void begin_change(unsigned slot, std::uint64_t from, std::uint64_t count, Stamp stamp) {
    changing_[slot] = {from, count, stamp};
  }
  void end_change(unsigned slot) {
    const Change change = changing_.at(slot);
    changing_.erase(slot);
    ++ended_;
    for (std::uint64_t i = change.from; i < change.from + change.count; ++i) {
      sectors_[i].unflushed.push_back({change.stamp, ended_});
    }
    recent_.push_back(change);
  }

  void begin_flush(unsigned slot) { flushing_[slot] = ended_; }
  void end_flush(unsigned slot) {
    const std::uint64_t covered = flushing_.at(slot);
    flushing_.erase(slot);
    for (Sector& sector : sectors_) {
      while (!sector.unflushed.empty() && sector.unflushed.front().ended <= covered) {
        sector.flushed = sector.unflushed.front().stamp;
        sector.unflushed.erase(sector.unflushed.begin());
      }
    }
  }

  /// False: sector `i` must not hold `found`.
  bool may_hold(std::uint64_t i, Stamp found) {
    const Sector& sector = sectors_[i];
    if (!sector.unflushed.empty() && found == sector.unflushed.back().stamp) {
      ++seen_.newest;
      return true;
    }
    for (const Version& version : sector.unflushed) {
      if (version.stamp != found) continue;
      ++seen_.older;
      return true;
    }
    for (const auto& [slot, change] : changing_) {
      if (i < change.from || i >= change.from + change.count || change.stamp != found) continue;
      ++seen_.in_flight;
      return true;
    }
    seen_.lost += sector.unflushed.empty() ? 0 : 1;
    return found == sector.flushed;
  }

  /// What the sectors hold after a crash is what they will hold after the next.
  void crashed(const std::vector<Stamp>& found) {
    bool unflushed = false;
    bool all_lost = true;
    for (std::uint64_t i = 0; i < sectors_.size(); ++i) {
      unflushed = unflushed || !sectors_[i].unflushed.empty();
      all_lost = all_lost && found[i] == sectors_[i].flushed;
    }
    seen_.clean += unflushed && all_lost ? 1 : 0;
    for (const Change& change : recent_) {
      const auto begin = found.begin() + static_cast<std::ptrdiff_t>(change.from);
      const auto there =
          std::count(begin, begin + static_cast<std::ptrdiff_t>(change.count), change.stamp);
      if (there > 0 && static_cast<std::uint64_t>(there) < change.count) ++seen_.torn;
    }
    for (std::uint64_t i = 0; i < sectors_.size(); ++i) sectors_[i] = {found[i], {}};
    changing_.clear();
    flushing_.clear();
    recent_.clear();
  }

  const Seen& seen() const { return seen_; }

 private:
  struct Version {
    Stamp stamp = 0;
    std::uint64_t ended = 0;  ///< how many changes had ended with this one
  };
  struct Sector {
    Stamp flushed = 0;
    std::vector<Version> unflushed;  ///< in the order of their ends
  };
  struct Change {
    std::uint64_t from = 0;
    std::uint64_t count = 0;
    Stamp stamp = 0;
  };

  std::vector<Sector> sectors_;
  std::map<unsigned, Change> changing_;         ///< by slot
  std::map<unsigned, std::uint64_t> flushing_;  ///< by slot: what it covers
  std::vector<Change> recent_;                  ///< ended since the last crash
  std::uint64_t ended_ = 0;
  Seen seen_;
};

}  // namespace sluice
