// Units as the field writes them: binary sizes, times in nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

inline constexpr std::uint64_t kNsPerUs = 1'000;
inline constexpr std::uint64_t kNsPerMs = 1'000'000;
inline constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

inline constexpr std::uint64_t kKiB = 1ULL << 10;
inline constexpr std::uint64_t kMiB = 1ULL << 20;
inline constexpr std::uint64_t kGiB = 1ULL << 30;

/// What two threads must not share. 128, not 64: the adjacent-line prefetcher pulls pairs.
inline constexpr std::size_t kFalseSharingBytes = 128;

}  // namespace sluice
