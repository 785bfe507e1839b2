// Times, dirtiness and limits of the model. What a crash does: model_crash_test.cpp.
#include "engine/devices/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <thread>

#include "engine/devices/model_rig.h"

namespace sluice {
namespace {

using Slots = std::vector<unsigned>;

TEST(ModelTimes, NServersEndNRequestsPerServiceTime) {
  ModelConfig config = exact_model();
  config.channels = 4;
  ModelRig rig(config);
  for (unsigned slot = 0; slot < 12; ++slot) rig.start(slot, Op::read, 0, 4096);
  rig.clock().advance(99);
  EXPECT_EQ(rig.ended(), Slots{});
  rig.clock().advance(1);
  EXPECT_EQ(rig.ended(), (Slots{0, 1, 2, 3}));
  rig.clock().advance(99);
  EXPECT_EQ(rig.ended(), Slots{});
  rig.clock().advance(101);
  EXPECT_EQ(rig.ended(), (Slots{4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(rig.device().servers_busy_max(), 4U);
}

TEST(ModelTimes, OneAtATimeKeepsOneServerBusy) {
  ModelConfig config = exact_model();
  config.channels = 4;
  ModelRig rig(config);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rig.run(Op::read, 0, 4096), 100U);
  EXPECT_EQ(rig.device().servers_busy_max(), 1U);
}

TEST(ModelTimes, ALatePollDelaysNothingButItself) {
  ModelRig rig(exact_model());
  rig.start(0, Op::read, 0, 4096);
  rig.start(1, Op::read, 0, 4096);
  rig.clock().advance(150);
  EXPECT_EQ(rig.ended(), Slots{0});
  rig.start(2, Op::read, 0, 4096);  // behind the one that is due at 200
  rig.clock().advance_to(299);
  EXPECT_EQ(rig.ended(), Slots{1});
  rig.clock().advance_to(300);
  EXPECT_EQ(rig.ended(), Slots{2});
}

TEST(ModelTimes, EachKindHasItsBase) {
  ModelRig rig(exact_model());
  EXPECT_EQ(rig.run(Op::read, 0, 4096), 100U);
  EXPECT_EQ(rig.run(Op::write, 0, 4096), 10U);
  EXPECT_EQ(rig.run(Op::trim, 0, 4096), 50U);
  EXPECT_EQ(rig.run(Op::flush, 0, 0), 1000U);
  EXPECT_EQ(rig.run(Op::data_sync, 0, 0), 1000U);
}

TEST(ModelTimes, BytesTakeTimeInProportion) {
  ModelConfig config = exact_model();
  config.bytes_per_second = 512'000'000;  // a sector each microsecond
  ModelRig rig(config);
  EXPECT_EQ(rig.run(Op::read, 0, 512), 100U + 1'000U);
  EXPECT_EQ(rig.run(Op::read, 0, 1 * kMiB), 100U + 2'048'000U);
  EXPECT_EQ(rig.run(Op::write, 0, 8192), 10U + 16'000U);
  EXPECT_EQ(rig.run(Op::trim, 0, 1 * kMiB), 50U);
}

/// Service times of `count` reads, one after the other.
std::vector<double> service_times(double jitter, std::uint64_t seed, unsigned count) {
  ModelConfig config = exact_model();
  config.read_ns = 100'000;
  config.jitter = jitter;
  config.seed = seed;
  ModelRig rig(config);
  std::vector<double> times;
  for (unsigned i = 0; i < count; ++i) {
    times.push_back(static_cast<double>(rig.run(Op::read, 0, 512)));
  }
  return times;
}

TEST(ModelTimes, JitterKeepsTheMeanAndHasTheSpreadOfAnExponential) {
  constexpr unsigned kCount = 40'000;
  for (const double jitter : {0.1, 0.5, 1.0}) {
    SCOPED_TRACE(jitter);
    const std::vector<double> times = service_times(jitter, 11, kCount);
    double sum = 0;
    double squares = 0;
    for (const double time : times) sum += time;
    const double mean = sum / kCount;
    for (const double time : times) squares += (time - mean) * (time - mean);
    // Four standard errors: jitter / sqrt(40000) is half a percent at most.
    EXPECT_NEAR(mean, 100'000, 100'000 * jitter * 0.02);
    EXPECT_NEAR(std::sqrt(squares / kCount), 100'000 * jitter, 100'000 * jitter * 0.05);
    EXPECT_GE(*std::min_element(times.begin(), times.end()), 100'000 * (1 - jitter) - 1);
    // An exponential exceeds its mean with probability 1/e.
    const auto above =
        std::count_if(times.begin(), times.end(), [](double time) { return time > 100'000; });
    EXPECT_NEAR(static_cast<double>(above) / kCount, 0.3679, 0.01);
  }
}

TEST(ModelTimes, ASeedGivesTheSameTimesAgain) {
  EXPECT_EQ(service_times(0.7, 5, 100), service_times(0.7, 5, 100));
  EXPECT_NE(service_times(0.7, 5, 100), service_times(0.7, 6, 100));
}

TEST(ModelTimes, CompletionsComeInDueOrder) {
  const auto run = [](std::uint64_t step_ns, unsigned max) {
    ModelConfig config = exact_model();
    config.channels = 7;
    config.jitter = 1.0;
    config.bytes_per_second = kGiB;
    ModelRig rig(config);
    Prng prng(3);
    for (unsigned slot = 0; slot < ModelRig::kDepth; ++slot) {
      rig.start(slot, Op::read, 0, 512 * (1 + prng.below(64)));
    }
    Slots order;
    while (order.size() < ModelRig::kDepth) {
      rig.clock().advance(step_ns);
      for (const unsigned slot : rig.ended(max)) order.push_back(slot);
    }
    return order;
  };
  const Slots watched = run(1, ModelRig::kDepth);
  EXPECT_FALSE(std::is_sorted(watched.begin(), watched.end())) << "nothing overtook anything";
  EXPECT_EQ(run(kNsPerSecond, ModelRig::kDepth), watched);
  EXPECT_EQ(run(kNsPerSecond, 1), watched);
}

TEST(ModelTimes, WaitStepsToTheRequestThatWasWanted) {
  ModelRig rig(exact_model());
  for (unsigned slot = 0; slot < 5; ++slot) rig.start(slot, Op::read, 0, 512);
  EXPECT_EQ(rig.channel().wait(3, false), 0);
  EXPECT_EQ(rig.clock().now_ns(), 300U);
  EXPECT_EQ(rig.ended().size(), 3U);
  EXPECT_EQ(rig.channel().wait(9, false), 0);  // there are only two
  EXPECT_EQ(rig.clock().now_ns(), 500U);
}

TEST(ModelTimes, OnARealClockWaitSleepsUntilDueAndWakeEndsIt) {
  ModelConfig config = exact_model();
  config.read_ns = 20 * kNsPerMs;
  config.trim_ns = 1000 * kNsPerSecond;
  const auto device = std::move(ModelDevice::open(config).value());
  const MonotonicClock clock;
  ModelChannelFactory factory(clock);
  std::string note;
  const auto channel = std::move(factory.open({.depth = 2}, note).value());
  Target target{.device = device.get()};
  std::vector<std::byte> buffer(512);
  Request read;
  read.buffer = buffer.data();
  read.length = 512;
  read.target = &target;
  ASSERT_TRUE(channel->submit(read));
  const std::uint64_t start_ns = clock.now_ns();
  while (channel->wait(1, true) == -EINTR) {
  }
  EXPECT_GE(clock.now_ns() - start_ns, config.read_ns);
  Request* ended = nullptr;
  EXPECT_EQ(channel->poll(&ended, 1), 1U);

  Request trim;
  trim.op = Op::trim;
  trim.length = 512;
  trim.target = &target;
  ASSERT_TRUE(channel->submit(trim));
  std::thread waker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    channel->wake();
  });
  while (channel->wait(1, true) == -EINTR) {  // a wake() that is lost hangs here
  }
  waker.join();
  EXPECT_EQ(channel->poll(&ended, 1), 0U);
  EXPECT_EQ(channel->in_flight(), 1U);
}

TEST(ModelCache, AFlushCostsWhatIsDirty) {
  ModelConfig config = exact_model();
  config.flush_bytes_per_second = 512'000'000;
  ModelRig rig(config);
  EXPECT_EQ(rig.run(Op::flush, 0, 0), 1000U);
  rig.run(Op::write, 0, 8192);
  EXPECT_EQ(rig.device().dirty_bytes(), 8192U);
  EXPECT_EQ(rig.run(Op::flush, 0, 0), 1000U + 16'000U);
  EXPECT_EQ(rig.device().dirty_bytes(), 0U);
  EXPECT_EQ(rig.run(Op::flush, 0, 0), 1000U);
  for (const unsigned mib : {1U, 2U, 4U}) {
    for (unsigned i = 0; i < mib; ++i) rig.run(Op::write, i * kMiB, kMiB);
    EXPECT_EQ(rig.run(Op::data_sync, 0, 0), 1000U + mib * 2'048'000U);
  }
}

TEST(ModelCache, ASectorIsDirtyOnceHoweverOftenItIsWritten) {
  ModelRig rig(exact_model());
  rig.run(Op::write, 0, 4096);
  rig.run(Op::write, 2048, 4096);
  rig.run(Op::write, 0, 512);
  rig.run(Op::read, 64 * kKiB, 4096);
  rig.run(Op::trim, 128 * kKiB, 4096);
  EXPECT_EQ(rig.device().dirty_bytes(), 6144U);
}

TEST(ModelCache, AWriteIsDirtyFromItsCompletionOn) {
  ModelRig rig(exact_model());
  rig.start(0, Op::write, 0, 4096);
  EXPECT_EQ(rig.device().dirty_bytes(), 0U);
  rig.start(1, Op::flush, 0, 0);  // too early to cover it
  EXPECT_EQ(rig.finish(), (Slots{0, 1}));
  EXPECT_EQ(rig.device().dirty_bytes(), 4096U);
}

TEST(ModelCache, AFlushHoldsEveryServer) {
  ModelConfig config = exact_model();
  config.channels = 3;
  ModelRig rig(config);
  rig.start(0, Op::read, 0, 512);   // until 100
  rig.start(1, Op::flush, 0, 0);    // 100 to 1100
  rig.start(2, Op::write, 0, 512);  // 1100 to 1110
  rig.start(3, Op::flush, 0, 0);    // 1110 to 2110
  rig.clock().advance_to(1099);
  EXPECT_EQ(rig.ended(), Slots{0});
  rig.clock().advance_to(1110);
  EXPECT_EQ(rig.ended(), (Slots{1, 2}));
  rig.clock().advance_to(2109);
  EXPECT_EQ(rig.ended(), Slots{});
  rig.clock().advance_to(2110);
  EXPECT_EQ(rig.ended(), Slots{3});
}

TEST(ModelCache, WithoutOneAFlushCostsNothing) {
  ModelConfig config = exact_model();
  config.write_cache = false;
  ModelRig rig(config);
  rig.run(Op::write, 0, kMiB);
  EXPECT_EQ(rig.device().dirty_bytes(), 0U);
  EXPECT_FALSE(rig.device().capabilities().volatile_cache);
  EXPECT_EQ(rig.run(Op::flush, 0, 0), 0U);
}

TEST(ModelData, AWriteIsSeenFromItsCompletionOn) {
  ModelConfig config = exact_model();
  config.channels = 2;
  config.write_ns = 1000;
  ModelRig rig(config);
  rig.buffer(0).assign(512, std::byte{7});
  rig.start(0, Op::write, 0, 512);
  rig.start(1, Op::read, 0, 512);  // done at 100
  rig.clock().advance_to(500);
  EXPECT_EQ(rig.ended(), Slots{1});
  EXPECT_EQ(rig.buffer(1)[0], std::byte{0});
  rig.start(2, Op::read, 0, 512);
  rig.clock().advance_to(1000);
  EXPECT_EQ(rig.ended(), (Slots{2, 0}));
  rig.start(3, Op::read, 0, 512);
  rig.finish();
  EXPECT_EQ(rig.buffer(3)[511], std::byte{7});
}

TEST(ModelData, TheEndOfTheDeviceIsTheEnd) {
  ModelRig rig(exact_model());
  const std::uint64_t end = exact_model().size_bytes;
  const auto result = [&](Op op, std::uint64_t offset, std::uint64_t length) {
    rig.run(op, offset, length);
    return rig.result();
  };
  EXPECT_EQ(result(Op::write, end - 1024, 4096), 1024);
  EXPECT_EQ(result(Op::write, end, 512), -ENOSPC);
  EXPECT_EQ(result(Op::write, end + kGiB, 512), -ENOSPC);
  EXPECT_EQ(result(Op::write, end, 0), 0);
  EXPECT_EQ(result(Op::read, end - 1024, 4096), 1024);
  EXPECT_EQ(result(Op::read, end, 4096), 0);
  EXPECT_EQ(result(Op::trim, end - 1024, 4096), 0);
  EXPECT_EQ(result(Op::trim, end, 4096), 0);
  EXPECT_EQ(result(Op::read, ~std::uint64_t{511}, 4096), 0);
}

TEST(ModelData, OffTheSectorGridIsRefused) {
  ModelConfig config = exact_model();
  config.logical_block_bytes = 4096;
  ModelRig rig(config);
  for (const Op op : {Op::read, Op::write, Op::trim}) {
    rig.run(op, 512, 4096);
    EXPECT_EQ(rig.result(), -EINVAL);
    rig.run(op, 4096, 512);
    EXPECT_EQ(rig.result(), -EINVAL);
  }
}

TEST(ModelConfig, ABadOneIsRefusedByName) {
  const auto refusal = [](auto change) {
    ModelConfig config = exact_model();
    change(config);
    Result<std::unique_ptr<ModelDevice>> device = ModelDevice::open(config);
    return device ? std::string() : device.error().message;
  };
  EXPECT_NE(refusal([](ModelConfig& c) { c.size_bytes = 0; }).find("size_bytes is 0"),
            std::string::npos);
  EXPECT_NE(refusal([](ModelConfig& c) { c.size_bytes = 513; }).find("size_bytes is 513"),
            std::string::npos);
  EXPECT_NE(refusal([](ModelConfig& c) { c.channels = 0; }).find("channels is 0"),
            std::string::npos);
  EXPECT_NE(refusal([](ModelConfig& c) { c.jitter = 1.5; }).find("jitter is 1.5"),
            std::string::npos);
  EXPECT_NE(refusal([](ModelConfig& c) { c.jitter = NAN; }).find("jitter is nan"),
            std::string::npos);
  EXPECT_NE(refusal([](ModelConfig& c) {
              c.logical_block_bytes = 1000;
            }).find("logical_block_bytes is 1000"),
            std::string::npos);
  EXPECT_NE(
      refusal([](ModelConfig& c) { c.size_bytes = std::uint64_t{1} << 60; }).find("address space"),
      std::string::npos);
}

}  // namespace
}  // namespace sluice
