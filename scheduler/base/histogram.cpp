#include "scheduler/base/histogram.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice {

void Histogram::merge(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < kCells; ++i) cells_[i] += other.cells_[i];
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

std::uint64_t Histogram::count() const noexcept {
  return std::accumulate(cells_.begin(), cells_.end(), std::uint64_t{0});
}

std::uint64_t Histogram::min() const noexcept {
  for (std::size_t i = 0; i < kCells; ++i) {
    if (cells_[i] != 0) return midpoint(i);
  }
  return 0;
}

double Histogram::mean() const noexcept {
  const std::uint64_t n = count();
  return n == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(n);
}

std::uint64_t Histogram::percentile(double percent) const noexcept {
  const std::uint64_t n = count();
  if (n == 0) return 0;
  const double wanted = std::ceil(static_cast<double>(n) * percent / 100.0);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kCells; ++i) {
    seen += cells_[i];
    if (seen > 0 && static_cast<double>(seen) >= wanted) return midpoint(i);
  }
  return max_;
}

std::uint64_t Histogram::midpoint(std::size_t i) noexcept {
  if (i < (std::size_t{kBuckets} << 1)) return i;
  const unsigned error_bits = static_cast<unsigned>(i >> kBucketBits) - 1;
  const std::uint64_t base = std::uint64_t{1} << (error_bits + kBucketBits);
  const std::uint64_t k = i & (kBuckets - 1);
  return base + (k << error_bits) + (std::uint64_t{1} << (error_bits - 1));
}

}  // namespace sluice
