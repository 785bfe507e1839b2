#include "scheduler/stack/deadman.h"

#include <algorithm>

namespace sluice {

namespace {
std::uint64_t age(std::uint64_t issued_ns, std::uint64_t now_ns) noexcept {
  return now_ns > issued_ns ? now_ns - issued_ns : 0;
}
}  // namespace

Deadman::Findings Deadman::look(std::span<const Request> slots, std::uint64_t now_ns,
                                bool hurried) {
  Findings found;
  if (hurried && hurried_ns_ == 0) hurried_ns_ = now_ns;
  if (moving_ns_ == 0) moving_ns_ = now_ns;
  std::vector<Sighting> old;
  std::uint64_t youngest_ns = 0;
  for (const Request& slot : slots) {
    const auto seen = sight(slot);
    if (!seen) continue;
    ++found.in_flight;
    youngest_ns = std::max(youngest_ns, seen->issued_ns);
    const std::uint64_t age_ns = age(seen->issued_ns, now_ns);
    const bool overdue = limits_.deadman_ns != 0 && age_ns >= limits_.deadman_ns;
    if (is_suspect(age_ns)) {
      found.prod = true;
      if (prodded_[seen->slot] != seen->issued_ns) {
        prodded_[seen->slot] = seen->issued_ns;
        found.look_again |= overdue;
        continue;
      }
    }
    if (overdue) ++found.overdue;
    if (overdue || (hurried_ns_ != 0 && age_ns >= kGraceNs)) old.push_back(*seen);
    if (!overdue || told_[seen->slot] == seen->issued_ns) continue;
    told_[seen->slot] = seen->issued_ns;
    found.news.push_back(*seen);
  }
  if (found.in_flight > found.overdue) moving_ns_ = now_ns;
  found.stuck_since_ns = moving_ns_;
  const auto older = [](const Sighting& a, const Sighting& b) { return a.issued_ns < b.issued_ns; };
  if (!found.news.empty()) {
    std::sort(found.news.begin(), found.news.end(), older);
    spoke_ns_ = now_ns;
  } else if (found.overdue > 0 && age(spoke_ns_, now_ns) >= limits_.deadman_ns) {
    found.still = *std::min_element(old.begin(), old.end(), older);
    spoke_ns_ = now_ns;
  }
  for (const Sighting& seen : old) {
    if (is_lost(seen, found, youngest_ns, now_ns)) found.give_up.push_back(seen);
  }
  return found;
}

// Half of deadman_ms at least, so that a short interval prods no job that runs well.
bool Deadman::is_suspect(std::uint64_t age_ns) const noexcept {
  if (hurried_ns_ != 0 && age_ns >= kGraceNs / 2) return true;
  if (limits_.deadman_ns == 0) return false;
  const std::uint64_t early_ns = std::min(limits_.check_ns, limits_.deadman_ns / 2);
  return age_ns >= limits_.deadman_ns - early_ns;
}

bool Deadman::is_lost(const Sighting& seen, const Findings& findings, std::uint64_t youngest_ns,
                      std::uint64_t now_ns) const noexcept {
  const std::uint64_t age_ns = age(seen.issued_ns, now_ns);
  if (hurried_ns_ != 0 && age(hurried_ns_, now_ns) >= kGraceNs && age_ns >= kGraceNs) return true;
  if (limits_.deadman_ns == 0 || age_ns < limits_.deadman_ns) return false;
  if (limits_.cancel) return true;
  return findings.overdue == findings.in_flight &&
         age(youngest_ns, now_ns) >= 2 * limits_.deadman_ns;
}

}  // namespace sluice
