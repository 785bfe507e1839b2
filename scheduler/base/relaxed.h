// Relaxed: a field that its owner uses as if it were plain, and that an observer may read
// meanwhile.
#pragma once

#include <atomic>
#include <type_traits>

namespace sluice {

/// The owner's reads and writes are plain moves on x86. Several fields are read as one state by an
/// observer that brackets them with a version (see Request::issued_ns): writes release and peek()
/// acquires, so whoever sees a field sees the version that was written before it.
template <typename T>
class Relaxed {
 public:
  Relaxed(T value = T{}) noexcept : value_(value) {}  // NOLINT: as if it were a T
  Relaxed(const Relaxed& other) noexcept : value_(static_cast<T>(other)) {}
  Relaxed& operator=(const Relaxed& other) noexcept { return *this = static_cast<T>(other); }
  ~Relaxed() = default;

  /// The owner.
  operator T() const noexcept { return value_.load(std::memory_order_relaxed); }  // NOLINT
  T operator->() const noexcept { return *this; }
  template <typename Number>
  requires(std::is_enum_v<T>&& std::is_integral_v<Number>) explicit operator Number()
      const noexcept {
    return static_cast<Number>(static_cast<T>(*this));
  }
  Relaxed& operator=(T value) noexcept {
    value_.store(value, std::memory_order_release);
    return *this;
  }
  /// An observer.
  T peek() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<T> value_;
};

}  // namespace sluice
