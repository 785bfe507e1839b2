// A counter with one writer and any number of readers: a plain add for the writer, no lock prefix.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice {

/// Threads: add() and set() by the owner only; load() by anyone, who sees some recent value.
class Counter {
 public:
  void add(std::uint64_t amount) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void sub(std::uint64_t amount) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) - amount, std::memory_order_relaxed);
  }
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void raise(std::uint64_t value) noexcept {
    if (value > load()) set(value);
  }
  std::uint64_t load() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace sluice
