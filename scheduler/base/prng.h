// Seeded randomness that gives the same numbers on every machine: std::mt19937_64 with our own
// reduction, since the standard's distributions differ between libraries.
#pragma once

#include <cstdint>
#include <random>

namespace sluice {

/// Threads: one at a time.
class Prng {
 public:
  explicit Prng(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t next() { return engine_(); }
  /// Uniform in [0, bound); bound > 0. Bias below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(engine_()) * bound) >> 64);
  }
  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return unit() < probability; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace sluice
