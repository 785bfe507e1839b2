// Nothing is allocated per I/O: once a session is open and has been round once, submit, commit and
// reap leave the heap alone. A program of its own, since it puts itself before malloc().
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "scheduler/base/units.h"
#include "scheduler/stack/stack_test_rig.h"

namespace {

// Only the thread that counts: the courier's and the watchdog's are not the job's.
thread_local bool counting = false;
thread_local std::uint64_t allocations = 0;

void count_one() noexcept {
  if (counting) ++allocations;
}

}  // namespace

// operator new comes by here as well.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*,
                                                                           std::size_t),
                                                         void (*on_free)(const volatile void*));

namespace {
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t) { count_one(); }, [](const volatile void*) {});
}  // namespace

#else

#define SLUICE_BEFORE_LIBC extern "C" [[gnu::visibility("default")]]

extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void* __libc_calloc(std::size_t count, std::size_t bytes);
extern "C" void* __libc_realloc(void* memory, std::size_t bytes);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t bytes);

SLUICE_BEFORE_LIBC void* malloc(std::size_t bytes) {
  count_one();
  return __libc_malloc(bytes);
}
SLUICE_BEFORE_LIBC void* calloc(std::size_t count, std::size_t bytes) {
  count_one();
  return __libc_calloc(count, bytes);
}
SLUICE_BEFORE_LIBC void* realloc(void* memory, std::size_t bytes) {
  count_one();
  return __libc_realloc(memory, bytes);
}
SLUICE_BEFORE_LIBC void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  count_one();
  return __libc_memalign(alignment, bytes);
}

#endif

namespace sluice::stack_test {
namespace {

struct Case {
  const char* device;
  const char* bypass;
  unsigned cap;  ///< 0: none
};
void PrintTo(const Case& setup, std::ostream* out) {
  *out << setup.device << "/bypass=" << setup.bypass << "/max_active=" << setup.cap;
}

class Allocation : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Devices, Allocation,
                         testing::Values(Case{"null", "all", 0}, Case{"null", "off", 0},
                                         Case{"null", "off", 3}, Case{"model", "all", 0},
                                         Case{"model", "off", 0}, Case{"model", "off", 3},
                                         Case{"auto", "all", 0}, Case{"auto", "off", 0},
                                         Case{"auto", "off", 3}),
                         [](const auto& instance) {
                           const Case& setup = instance.param;
                           const std::string device = setup.device;
                           return (device == "auto" ? "uring" : device) + "_" + setup.bypass + "_" +
                                  (setup.cap == 0 ? "unlimited" : "limited");
                         });

TEST(AllocationCount, SeesAllocations) {
  allocations = 0;
  counting = true;
  auto* volatile number = new int(1);
  void* volatile memory = std::malloc(10);
  counting = false;
  EXPECT_EQ(allocations, 2U);
  delete number;
  std::free(memory);
}

/// Drives the session by itself: Job keeps books that allocate.
class Bare {
 public:
  static constexpr unsigned kDepth = 32;

  Bare(Session& session, Target& target, std::byte* memory)
      : session_(session), target_(target), memory_(memory) {}

  void round(bool deferrable) {
    for (unsigned slot = 0; slot < kDepth; ++slot) {
      static constexpr Op kMix[] = {Op::read, Op::write, Op::read,      Op::trim,
                                    Op::read, Op::write, Op::data_sync, Op::flush};
      const Op op = kMix[slot % std::size(kMix)];
      const bool sync = op == Op::flush || op == Op::data_sync;
      session_.submit(slot, op, target_, memory_ + std::size_t{slot} * kBlock, sync ? 0 : kBlock,
                      std::uint64_t{slot} * kBlock);
      // Alone and in batches.
      if (slot < 4) session_.commit(false);
    }
    session_.commit(deferrable);
    for (unsigned left = kDepth; left > 0;) {
      const int found = session_.reap(left > 5 ? 5 : left, kDepth);
      for (int i = 0; i < found; ++i) wrong_ += session_.ended(static_cast<unsigned>(i)).result < 0;
      left -= static_cast<unsigned>(found);
    }
  }
  unsigned wrong() const { return wrong_; }

 private:
  Session& session_;
  Target& target_;
  std::byte* memory_;
  unsigned wrong_ = 0;
};

TEST_P(Allocation, NoneAfterTheFirstRound) {
  const Case& setup = GetParam();
  std::unique_ptr<TempFile> file;
  if (std::string(setup.device) == "auto") {
    if (const auto why = io_uring_missing()) GTEST_SKIP() << *why;
    file = std::make_unique<TempFile>(1 * kMiB);
  }
  const Watchdog watchdog(60);
  World world;
  SessionConfig config;
  config.job = "job";
  config.depth = Bare::kDepth;
  config.direct = true;
  config.tunables = tunables({{"device", setup.device},
                              {"bypass", setup.bypass},
                              {"max_active", std::to_string(setup.cap)},
                              {"model_read_time", "20us"},
                              {"model_flush_time", "20us"}});
  std::unique_ptr<std::byte, void (*)(void*)> memory(
      static_cast<std::byte*>(std::aligned_alloc(kBlock, std::size_t{Bare::kDepth} * kBlock)),
      std::free);
  config.buffers = memory.get();
  config.buffer_bytes = std::uint64_t{Bare::kDepth} * kBlock;
  config.buffer_unit_bytes = kBlock;
  std::string note;
  auto session = world.stack.open_session(config, note);
  ASSERT_TRUE(session.ok()) << session.error().message;
  Leaf& leaf = world.leaf(file ? file->path() : "/sluice-test/a", config.tunables);
  Target& target = session.value()->open_file(leaf, file ? file->fd() : -1);
  Bare bare(*session.value(), target, memory.get());
  bare.round(false);
  allocations = 0;
  counting = true;
  for (int i = 0; i < 50; ++i) bare.round(i % 2 == 0);
  counting = false;
  EXPECT_EQ(allocations, 0U);
  EXPECT_EQ(bare.wrong(), 0U);
  if (setup.cap != 0) {
    EXPECT_GT(counts(leaf).waited, 0U);
  }
  EXPECT_TRUE(world.stack.close_session(std::move(session.value())).ok());
}

}  // namespace
}  // namespace sluice::stack_test
