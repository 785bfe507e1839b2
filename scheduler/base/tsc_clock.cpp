#include "scheduler/base/tsc_clock.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <time.h>
#include <x86intrin.h>

#include <fstream>
#include <string>

#include "scheduler/base/units.h"

namespace sluice {

namespace {

bool invariant() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  // Intel SDM, CPUID leaf 80000007H: EDX bit 8, invariant TSC.
  return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && ((d >> 8U) & 1U) != 0;
}

// Hypervisors offer kvm-clock and the like over the same counter; those are sound too.
bool trusted_by_kernel() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  file >> source;
  return source == "tsc" || source == "kvm-clock" || source == "hyperv_clocksource_tsc_page";
}

struct Pair {
  std::uint64_t tick;
  std::uint64_t ns;
};

// Both clocks at one moment: the closest of a few tries, since an interrupt may fall between.
Pair read_both() {
  Pair best{};
  std::uint64_t closest = ~std::uint64_t{0};
  for (int i = 0; i < 32; ++i) {
    const std::uint64_t before = __rdtsc();
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    const std::uint64_t after = __rdtsc();
    if (after - before >= closest) continue;
    closest = after - before;
    best = {before + (after - before) / 2, static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
                                               static_cast<std::uint64_t>(now.tv_nsec)};
  }
  return best;
}

}  // namespace

std::unique_ptr<TscClock> TscClock::calibrate() {
  if (!invariant() || !trusted_by_kernel()) return nullptr;
  const Pair first = read_both();
  sleep_ns(4 * kNsPerMs);
  const Pair last = read_both();
  if (last.tick <= first.tick || last.ns <= first.ns) return nullptr;
  const auto scaled = static_cast<unsigned __int128>(last.ns - first.ns) << 32U;
  const auto factor = static_cast<std::uint64_t>(scaled / (last.tick - first.tick));
  // Starts well above 0, which marks "not at the device".
  const std::uint64_t epoch = last.tick - first.tick;
  return std::unique_ptr<TscClock>(new TscClock(first.tick - epoch, factor));
}

}  // namespace sluice

#else

namespace sluice {
std::unique_ptr<TscClock> TscClock::calibrate() { return nullptr; }
}  // namespace sluice

#endif
