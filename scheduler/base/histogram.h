// Log-linear histogram on the very scale of fio's json+ bins, so that ours and fio's percentiles
// can be laid over each other: 64 linear buckets per power of two (error below 0.8 %), values over
// 2^34 ns in the last group (facts: fio stat.h, FIO_IO_U_PLAT_*).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sluice {

/// Threads: one writer. Size is fixed at build time; add() never allocates.
class Histogram {
 public:
  static constexpr unsigned kBucketBits = 6;
  static constexpr unsigned kBuckets = 1U << kBucketBits;
  static constexpr unsigned kGroups = 29;
  static constexpr std::size_t kCells = std::size_t{kGroups} * kBuckets;

  void add(std::uint64_t value_ns) noexcept { add(value_ns, 1); }

  void add(std::uint64_t value_ns, std::uint64_t times) noexcept {
    cells_[index(value_ns)] += times;
    sum_ += value_ns * times;
    if (value_ns > max_) max_ = value_ns;
  }

  /// As add(), with the comparison that max() needs left to a mark that the caller sets: true when
  /// the value has reached it, which must be no higher than max() + 1. Then the caller calls
  /// note_max(). So what else is rare about high values costs the others nothing.
  bool add_marked(std::uint64_t value_ns) noexcept {
    ++cells_[index(value_ns)];
    sum_ += value_ns;
    return value_ns >= mark_;
  }
  void note_max(std::uint64_t value_ns) noexcept {
    if (value_ns > max_) max_ = value_ns;
  }
  void set_mark(std::uint64_t mark_ns) noexcept { mark_ = mark_ns; }

  void merge(const Histogram& other) noexcept;

  /// Adds up the cells: not for hot paths, which is why add() keeps no count.
  std::uint64_t count() const noexcept;
  std::uint64_t sum() const noexcept { return sum_; }
  /// Midpoint of the lowest bucket in use; 0 when empty.
  std::uint64_t min() const noexcept;
  std::uint64_t max() const noexcept { return max_; }
  double mean() const noexcept;
  std::uint64_t cell(std::size_t i) const noexcept { return cells_[i]; }

  /// Smallest bucket midpoint at or below which `percent` (0..100) of the values lie; 0 when empty.
  std::uint64_t percentile(double percent) const noexcept;

  static constexpr std::size_t index(std::uint64_t value) noexcept {
    if (value < kBuckets) return static_cast<std::size_t>(value);
    const unsigned top_bit = 63U ^ static_cast<unsigned>(std::countl_zero(value));
    const unsigned error_bits = top_bit - kBucketBits;
    // The top bit of the shifted value stands for one more group.
    const std::size_t i = (std::size_t{error_bits} << kBucketBits) + (value >> error_bits);
    return i < kCells ? i : kCells - 1;
  }
  /// Midpoint of bucket `i`, as fio prints it.
  static std::uint64_t midpoint(std::size_t i) noexcept;

 private:
  std::array<std::uint64_t, kCells> cells_{};
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t mark_ = 0;
};

}  // namespace sluice
