// ModelRig: a model device on a stepped clock with one channel, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/devices/model.h"
#include "scheduler/testing/sim_clock.h"

namespace sluice {

/// Exact times and no byte rates: tests switch on what they are about.
inline ModelConfig exact_model() {
  ModelConfig config;
  config.size_bytes = 8 * kMiB;
  config.channels = 1;
  config.read_ns = 100;
  config.write_ns = 10;
  config.trim_ns = 50;
  config.flush_ns = 1000;
  config.bytes_per_second = 0;
  config.flush_bytes_per_second = 0;
  config.jitter = 0.0;
  return config;
}

/// Submits by slot; the first `depth` slots may be in flight at the same time.
class ModelRig {
 public:
  static constexpr unsigned kDepth = 64;
  static constexpr std::uint64_t kBufferBytes = 1 * kMiB;

  explicit ModelRig(const ModelConfig& config)
      : requests_(std::make_unique<Request[]>(kDepth)), buffers_(kDepth) {
    Result<std::unique_ptr<ModelDevice>> opened = ModelDevice::open(config);
    EXPECT_TRUE(opened.ok());
    device_ = std::move(opened.value());
    target_.device = device_.get();
    restart();
  }

  ModelDevice& device() { return *device_; }
  Channel& channel() { return *channel_; }
  SimClock& clock() { return clock_; }
  Request& request(unsigned slot) { return requests_[slot]; }
  std::vector<std::byte>& buffer(unsigned slot) { return buffers_[slot]; }

  /// A new channel; what was in flight on the old one is forgotten.
  void restart() {
    std::string note;
    Result<std::unique_ptr<Channel>> opened = factory_.open({.depth = kDepth}, note);
    EXPECT_TRUE(opened.ok());
    channel_ = std::move(opened.value());
  }

  /// Submits and commits. Reads and writes use the slot's own buffer.
  void start(unsigned slot, Op op, std::uint64_t offset, std::uint64_t length) {
    if (buffers_[slot].size() < length) buffers_[slot].resize(length);
    Request& request = requests_[slot];
    request.buffer = buffers_[slot].data();
    request.offset = offset;
    request.length = static_cast<std::uint32_t>(length);
    request.op = op;
    request.slot = slot;
    request.target = &target_;
    ASSERT_TRUE(channel_->submit(request));
    ASSERT_EQ(channel_->commit(), 0);
  }

  /// What can be polled now.
  std::vector<unsigned> ended(unsigned max = kDepth) {
    std::vector<Request*> found(max);
    found.resize(channel_->poll(found.data(), max));
    std::vector<unsigned> slots;
    slots.reserve(found.size());
    for (const Request* request : found) slots.push_back(request->slot);
    return slots;
  }

  /// Steps the clock to the end of everything in flight and collects it.
  std::vector<unsigned> finish() {
    EXPECT_EQ(channel_->wait(channel_->in_flight(), false), 0);
    return ended();
  }

  /// One request alone: how long it took.
  std::uint64_t run(Op op, std::uint64_t offset, std::uint64_t length) {
    const std::uint64_t start_ns = clock_.now_ns();
    start(0, op, offset, length);
    EXPECT_EQ(finish().size(), 1U);
    return clock_.now_ns() - start_ns;
  }
  std::int32_t result(unsigned slot = 0) const { return requests_[slot].result; }

 private:
  SimClock clock_;
  ModelChannelFactory factory_{clock_, [this](std::uint64_t due_ns) { clock_.advance_to(due_ns); }};
  std::unique_ptr<ModelDevice> device_;
  Target target_;
  std::unique_ptr<Request[]> requests_;
  std::vector<std::vector<std::byte>> buffers_;
  std::unique_ptr<Channel> channel_;  // last: it goes first
};

}  // namespace sluice
