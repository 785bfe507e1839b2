#include "engine/devices/conformance.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace sluice::conformance {

Rig::Rig(Testbed& bed, unsigned depth)
    : bed_(bed),
      depth_(depth),
      buffers_(static_cast<std::byte*>(std::aligned_alloc(4096, depth * kBufferBytes))),
      requests_(std::make_unique<Request[]>(depth)),
      busy_(depth, false) {
  ChannelConfig config;
  config.depth = depth;
  config.files = Testbed::kStores;
  config.buffers = buffers_.get();
  config.buffer_bytes = depth * kBufferBytes;
  config.buffer_unit_bytes = kBufferBytes;
  config.aggregates = true;
  std::string note;
  Result<std::unique_ptr<Channel>> channel = bed_.channels().open(config, note);
  if (!channel) ADD_FAILURE() << channel.error().message;
  channel_ = std::move(channel.value());
  for (unsigned store = 0; store < Testbed::kStores; ++store) {
    targets_[store] = bed_.target(store);
    channel_->attach(targets_[store]);
  }
}

Rig::~Rig() {
  if (channel_ == nullptr) return;
  drain();
  for (Target& target : targets_) channel_->detach(target);
}

std::uint64_t Rig::block_bytes() const {
  return std::max<std::uint64_t>(512, device().limits().logical_block_bytes);
}

std::optional<unsigned> Rig::free_slot() const {
  const auto found = std::find(busy_.begin(), busy_.end(), false);
  if (found == busy_.end()) return std::nullopt;
  return static_cast<unsigned>(found - busy_.begin());
}

bool Rig::submit(unsigned slot, Op op, std::uint64_t offset, std::uint64_t length, unsigned store) {
  Request& request = requests_[slot];
  request.buffer = buffer(slot);
  request.offset = offset;
  request.length = static_cast<std::uint32_t>(length);
  request.op = op;
  request.slot = slot;
  request.target = &targets_.at(store);
  request.result = kUntouched;
  request.issued_ns.store(bed_.now_ns(), std::memory_order_relaxed);
  if (!channel_->submit(request)) return false;
  EXPECT_FALSE(busy_[slot]) << "slot " << slot;
  busy_[slot] = true;
  ++busy_count_;
  EXPECT_EQ(request.result, kUntouched) << "completed inline";
  EXPECT_EQ(channel_->in_flight(), busy_count_);
  EXPECT_LE(channel_->unpushed(), busy_count_);
  return true;
}

std::vector<unsigned> Rig::collect(unsigned max) {
  bed_.pass_time();
  std::vector<Request*> ended(max + 1, nullptr);
  const unsigned count = channel_->poll(ended.data(), max);
  EXPECT_LE(count, max);
  EXPECT_EQ(ended[max], nullptr) << "written past the array";
  std::vector<unsigned> slots;
  for (unsigned i = 0; i < std::min(count, max); ++i) {
    const unsigned slot = ended[i]->slot;
    EXPECT_EQ(ended[i], &requests_[slot]);
    EXPECT_TRUE(busy_[slot]) << "slot " << slot << " ended twice, or was never submitted";
    EXPECT_NE(ended[i]->result, kUntouched) << "slot " << slot;
    busy_[slot] = false;
    --busy_count_;
    slots.push_back(slot);
  }
  EXPECT_EQ(channel_->in_flight(), busy_count_);
  return slots;
}

void Rig::drain() {
  ASSERT_EQ(channel_->commit(), 0);
  EXPECT_EQ(channel_->unpushed(), 0U);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (busy_count_ > 0) {
    if (!collect(depth_).empty()) continue;
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << busy_count_ << " requests are lost";
    std::this_thread::yield();
  }
}

int Rig::wait(unsigned want, bool wakeable) {
  int status = 0;
  do {
    status = channel_->wait(want, wakeable);
  } while (status == -EINTR);
  return status;
}

std::int32_t Rig::run(Op op, std::uint64_t offset, std::uint64_t length, unsigned store) {
  const std::optional<unsigned> slot = free_slot();
  if (!slot || !submit(*slot, op, offset, length, store)) {
    ADD_FAILURE() << "no room";
    return kUntouched;
  }
  drain();
  return requests_[*slot].result;
}

void Conformance::SetUp() {
  Result<std::unique_ptr<Testbed>> bed = GetParam().make();
  if (!bed) GTEST_SKIP() << bed.error().message;
  bed_ = std::move(bed.value());
}

Rig& Conformance::rig() {
  if (rig_ == nullptr) rig_ = std::make_unique<Rig>(*bed_, kDepth);
  return *rig_;
}

RandomIo random_io(Prng& prng, const Rig& rig, std::uint64_t length_max_bytes) {
  const std::uint64_t block = rig.block_bytes();
  RandomIo io;
  const std::uint64_t kind = prng.below(100);
  if (kind < 45) {
    io.op = Op::read;
  } else if (kind < 90) {
    io.op = Op::write;
  } else if (kind < 96) {
    io.op = rig.device().capabilities().trim ? Op::trim : Op::read;
  } else {
    io.op = kind < 98 ? Op::flush : Op::data_sync;
    return io;
  }
  const std::uint64_t blocks_max = std::max<std::uint64_t>(1, length_max_bytes / block);
  const bool empty = io.op != Op::trim && prng.chance(0.01);
  io.length = empty ? 0 : block * (1 + prng.below(1 + prng.below(blocks_max)));
  io.offset = block * prng.below((Testbed::kStoreBytes - io.length) / block + 1);
  return io;
}

std::uint64_t test_seed(std::uint64_t usual) {
  const char* const given = std::getenv("SLUICE_TEST_SEED");
  return given == nullptr ? usual : std::strtoull(given, nullptr, 0);
}

}  // namespace sluice::conformance
