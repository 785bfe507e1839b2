// No device allocates memory per request once its channel is open: conformance.h.
#include <atomic>
#include <cstdlib>
#include <new>

#include "engine/devices/conformance.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLUICE_COUNTS_ALLOCATIONS 0  // a sanitizer's own operator new finds more than we would
#else
#define SLUICE_COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<std::uint64_t> allocations{0};
}  // namespace

#if SLUICE_COUNTS_ALLOCATIONS
// What any code of this test program allocates through new.
void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace sluice::conformance {
namespace {

TEST_P(Conformance, RequestsAllocateNothing) {
  if (SLUICE_COUNTS_ALLOCATIONS == 0) GTEST_SKIP() << "a sanitizer owns operator new";
  if (GetParam().allocates_per_request) GTEST_SKIP() << "this device may allocate";
  Rig& mine = rig();
  Channel& channel = mine.channel();
  Request* ended[kDepth];
  const auto round = [&] {
    for (unsigned slot = 0; slot < kDepth; ++slot) {
      Request& request = mine.request(slot);
      request.buffer = mine.buffer(slot);
      request.length = static_cast<std::uint32_t>(mine.block_bytes());
      request.offset = slot * mine.block_bytes();
      request.op = slot == 3 ? Op::flush : slot % 2 == 0 ? Op::read : Op::write;
      request.target = &mine.target(slot % Testbed::kStores);
      // Slots 10, 12, 14 are one read.
      if (slot >= 10 && slot % 2 == 0) {
        request.target = &mine.target(0);
        request.next_part = slot < 14 ? &mine.request(slot + 2) : nullptr;
        if (slot != 14) continue;
        request.first_part = &mine.request(10);
      }
      if (!channel.submit(request)) std::abort();
    }
    while (channel.in_flight() > 0) {
      channel.wait(1, false);
      bed().pass_time();
      channel.poll(ended, kDepth);
    }
  };
  round();  // what is made at first use
  const std::uint64_t before = allocations.load();
  for (int i = 0; i < 100; ++i) round();
  EXPECT_EQ(allocations.load() - before, 0U);
}

}  // namespace
}  // namespace sluice::conformance
