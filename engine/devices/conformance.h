// The conformance suite: what every device must do, whatever it is. (After SPDK's bdevio and
// folly's AsyncBaseTestLib.) A new kind of device gets an entry in conformance_devices.cpp.
//
//   conformance_test.cpp       a request's life: exactly once, never inline, depth, wait, wake
//   conformance_data_test.cpp  bytes: integrity, ends of the device, several files and threads
//   conformance_parts_test.cpp  aggregates: many requests as one I/O
//   conformance_allocation_test.cpp  no memory is allocated per request
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "scheduler/base/clock.h"
#include "scheduler/base/prng.h"
#include "scheduler/base/units.h"
#include "scheduler/io/device.h"

namespace sluice::conformance {

/// What is tested: kStores stores of one kind, zero or unknown inside, and a way to them.
class Testbed {
 public:
  static constexpr unsigned kStores = 3;
  static constexpr std::uint64_t kStoreBytes = 4 * kMiB;

  virtual ~Testbed() = default;
  virtual ChannelFactory& channels() = 0;
  /// A target that was not attached yet; store < kStores.
  virtual Target target(unsigned store) = 0;
  /// Called before each poll: a stepped clock moves on. Threads: any.
  virtual void pass_time() {}
  /// By the clock of the channels. Threads: any.
  virtual std::uint64_t now_ns() const { return clock_.now_ns(); }

 protected:
  MonotonicClock clock_;
};

struct DeviceUnderTest {
  std::string name;
  /// Error: not available on this machine; the test is skipped and says why.
  std::function<Result<std::unique_ptr<Testbed>>()> make;
  bool allocates_per_request = false;  ///< it is for tests only, and says so
};
std::vector<DeviceUnderTest> devices_under_test();
inline void PrintTo(const DeviceUnderTest& device, std::ostream* out) { *out << device.name; }

/// One thread's channel to a testbed, with its requests and a buffer for each. Checks at every
/// collect() that a request ends once, and only when it was in flight.
class Rig {
 public:
  static constexpr std::uint64_t kBufferBytes = 1 * kMiB;
  static constexpr std::int32_t kUntouched = -1'000'000;  ///< no device gives this result

  Rig(Testbed& bed, unsigned depth);
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  Channel& channel() { return *channel_; }
  unsigned depth() const { return depth_; }
  Target& target(unsigned store) { return targets_.at(store); }
  const Device& device() const { return *targets_[0].device; }
  /// The smallest unit of offsets and lengths.
  std::uint64_t block_bytes() const;

  Request& request(unsigned slot) { return requests_[slot]; }
  std::byte* buffer(unsigned slot) { return buffers_.get() + slot * kBufferBytes; }

  /// A slot that is not in flight, or nothing.
  std::optional<unsigned> free_slot() const;
  unsigned in_flight() const { return busy_count_; }

  /// Fills in the request and submits it; what submit() said.
  bool submit(unsigned slot, Op op, std::uint64_t offset, std::uint64_t length, unsigned store = 0);
  /// Polls once for at most `max`; the slots that ended, in the order that poll() gave.
  std::vector<unsigned> collect(unsigned max);
  /// Commits, then collects until nothing is in flight. A failure after 20 s.
  void drain();
  /// wait() again while signals end it.
  int wait(unsigned want, bool wakeable);
  /// One request from submit to its end; its result.
  std::int32_t run(Op op, std::uint64_t offset, std::uint64_t length, unsigned store = 0);

  /// Destroys the channel, whatever is in flight. Nothing but buffers may be used afterwards.
  void drop_channel() { channel_.reset(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  Testbed& bed_;
  const unsigned depth_;
  std::unique_ptr<std::byte, Free> buffers_;
  std::unique_ptr<Request[]> requests_;
  std::vector<bool> busy_;
  unsigned busy_count_ = 0;
  std::array<Target, Testbed::kStores> targets_;
  std::unique_ptr<Channel> channel_;
};

/// The fixture: one testbed a test. Other threads make rigs of their own.
class Conformance : public testing::TestWithParam<DeviceUnderTest> {
 protected:
  static constexpr unsigned kDepth = 16;

  void SetUp() override;
  Rig& rig();  ///< the first thread's, made at first use
  Testbed& bed() { return *bed_; }
  /// False: a test of stored bytes makes no sense here.
  bool stores_data() { return bed_->target(0).device->capabilities().stores_data; }

 private:
  std::unique_ptr<Testbed> bed_;
  std::unique_ptr<Rig> rig_;
};

/// A random request that lies within its store. Lengths are multiples of the block up to
/// `length_max_bytes`, zero now and then.
struct RandomIo {
  Op op = Op::read;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
RandomIo random_io(Prng& prng, const Rig& rig, std::uint64_t length_max_bytes);

/// The seed of a random test: SLUICE_TEST_SEED, or `usual`.
std::uint64_t test_seed(std::uint64_t usual);

}  // namespace sluice::conformance
