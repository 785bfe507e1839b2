// SparseMemory: an anonymous mapping that costs real memory only where it was written.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "scheduler/base/result.h"

namespace sluice {

/// Owns the mapping. Zeros at first.
class SparseMemory {
 public:
  SparseMemory() = default;
  SparseMemory(SparseMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  SparseMemory& operator=(SparseMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SparseMemory() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }

  /// Error: ENOMEM when the address space, or vm.overcommit_memory=2, does not allow it.
  static Result<SparseMemory> map(std::uint64_t bytes) {
    void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
      const int code = errno;
      return Error{code, "no room for a mapping of " + std::to_string(bytes) +
                             " bytes: " + std::strerror(code)};
    }
    // A huge page for each scattered write would cost 512 times the memory; and a core dump that
    // walks through terabytes of nothing takes minutes. Advice only: failure changes no result.
    ::madvise(data, bytes, MADV_NOHUGEPAGE);
    ::madvise(data, bytes, MADV_DONTDUMP);
    SparseMemory memory;
    memory.data_ = static_cast<std::byte*>(data);
    memory.bytes_ = bytes;
    return memory;
  }

  std::byte* data() const noexcept { return data_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

  /// Zeros again, and gives the memory back. `offset` and `length` are multiples of 64 KiB, which
  /// is a multiple of every page size in use.
  void drop(std::uint64_t offset, std::uint64_t length) noexcept {
    if (::madvise(data_ + offset, length, MADV_DONTNEED) != 0) {
      std::memset(data_ + offset, 0, length);
    }
  }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace sluice
