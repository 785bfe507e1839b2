#include "scheduler/stack/stack_test_rig.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace sluice::stack_test {

namespace {
// No stamp has these values.
constexpr std::uint64_t kUntouched = ~std::uint64_t{0};  // what a buffer holds before a read
constexpr std::uint64_t kUnknown = kUntouched - 1;       // what another job may have left
}  // namespace

Watchdog::Watchdog(unsigned seconds) {
  const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
  thread_ = std::thread([this, seconds, test] {
    const MonotonicClock clock;
    const std::uint64_t end = clock.now_ns() + seconds * kNsPerSecond;
    while (!done_.load()) {
      if (clock.now_ns() > end) {
        std::fprintf(stderr, "%s.%s hangs: somebody sleeps for ever\n", test->test_suite_name(),
                     test->name());
        std::abort();
      }
      sleep_ns(5 * kNsPerMs);
    }
  });
}

Watchdog::~Watchdog() {
  done_ = true;
  thread_.join();
}

Tunables tunables(const Settings& settings) {
  Tunables out = default_tunables();
  for (const auto& [name, value] : settings) {
    const Status set = set_tunable(out, name, value.c_str());
    EXPECT_TRUE(set.ok()) << set.error().message;
  }
  return out;
}

Leaf& World::leaf(const std::string& path, const Tunables& tunables) {
  auto leaf = stack.join(path, tunables, "test");
  SLUICE_CHECK(leaf.ok());
  return *leaf.value();
}

LeafCounts counts(const Leaf& leaf) {
  LeafStats stats;
  leaf.queue().read_stats(stats);
  return {stats.granted.load(), stats.waited.load(), stats.active_max.load(),
          stats.waiting_max.load()};
}

TempFile::TempFile(std::uint64_t bytes) : path_(testing::TempDir() + "sluice-stack-XXXXXX") {
  fd_ = ::mkostemp(path_.data(), O_CLOEXEC);
  SLUICE_CHECK(fd_ >= 0 && ::posix_fallocate(fd_, 0, static_cast<off_t>(bytes)) == 0);
}

TempFile::~TempFile() {
  ::close(fd_);
  ::unlink(path_.c_str());
}

std::optional<std::string> io_uring_missing() {
  const MonotonicClock clock;
  DeviceRegistry devices(clock);
  auto handle = devices.open(default_tunables(), "");
  std::string note;
  auto channel = handle.value().channels->open({}, note);
  if (channel) return std::nullopt;
  return channel.error().message;
}

Job::Job(Stack& stack, const JobSpec& spec)
    : stack_(stack),
      spec_(spec),
      buffers_(
          static_cast<std::byte*>(std::aligned_alloc(kBlock, std::size_t{spec.depth} * kBlock))),
      slots_(spec.depth) {
  for (unsigned i = spec_.depth; i > 0; --i) idle_.push_back(i - 1);
  SessionConfig config;
  config.job = spec_.name;
  config.depth = spec_.depth;
  config.direct = spec_.direct;
  config.tunables = spec_.tunables;
  config.buffers = buffers_.get();
  config.buffer_bytes = std::uint64_t{spec_.depth} * kBlock;
  config.buffer_unit_bytes = kBlock;
  config.files = static_cast<unsigned>(spec_.paths.size());
  std::string note;
  auto session = stack_.open_session(config, note);
  EXPECT_TRUE(session.ok()) << session.error().message;
  SLUICE_CHECK(session.ok());
  session_ = std::move(session.value());
  for (std::size_t i = 0; i < spec_.paths.size(); ++i) {
    auto leaf = stack_.join(spec_.paths[i], spec_.tunables, spec_.name);
    SLUICE_CHECK(leaf.ok());
    stores_data_ = leaf.value()->device().capabilities().stores_data;
    targets_.push_back(&session_->open_file(*leaf.value(), spec_.fds.empty() ? -1 : spec_.fds[i]));
    stamps_.emplace_back(spec_.blocks(), kUnknown);
  }
}

Job::~Job() {
  if (session_ != nullptr) {
    EXPECT_TRUE(close().ok());
  }
}

Status Job::close() { return stack_.close_session(std::move(session_)); }

void Job::fill(unsigned slot, std::uint64_t stamp) {
  for (std::size_t at = 0; at < kBlock; at += sizeof stamp) {
    std::memcpy(buffer(slot) + at, &stamp, sizeof stamp);
  }
}

void Job::submit(Op op, unsigned file, unsigned salt) {
  const unsigned number = idle_.back();
  idle_.pop_back();
  Slot& slot = slots_[number];
  // A slot has blocks of its own, so that requests in flight never overlap.
  slot = {true, op, file, std::uint64_t{salt % kBlocksPerSlot} * spec_.depth + number};
  std::uint64_t& stamp = stamps_[file][slot.block];
  if (op == Op::write) {
    stamp = ((spec_.first_block + 1) << 32U) + ++last_stamp_;
    fill(number, stamp);
  } else if (op == Op::read) {
    fill(number, kUntouched);
  } else if (op == Op::trim) {
    stamp = 0;
  }
  const bool is_flush = op == Op::flush || op == Op::data_sync;
  session_->submit(number, op, *targets_[file], is_flush ? nullptr : buffer(number),
                   is_flush ? 0 : kBlock, (spec_.first_block + slot.block) * kBlock);
  ++outstanding_;
}

void Job::commit(bool deferrable) { EXPECT_EQ(session_->commit(deferrable), 0); }

unsigned Job::reap(unsigned min, unsigned max) {
  const int found = session_->reap(min, max);
  EXPECT_GE(found, static_cast<int>(min));
  EXPECT_LE(found, static_cast<int>(max));
  if (found < 0) return 0;
  for (unsigned i = 0; i < static_cast<unsigned>(found); ++i) {
    const Session::Ended ended = session_->ended(i);
    on_end(ended.slot, ended.result);
  }
  EXPECT_EQ(session_->outstanding(), outstanding_);
  return static_cast<unsigned>(found);
}

void Job::on_end(unsigned number, std::int32_t result) {
  Slot& slot = slots_.at(number);
  ASSERT_TRUE(slot.busy) << "slot " << number << " came back twice";
  slot.busy = false;
  idle_.push_back(number);
  --outstanding_;
  ++ended_;
  ++ended_by_op_[static_cast<unsigned>(slot.op)];
  const bool transfers = slot.op <= Op::write;
  EXPECT_EQ(result, transfers ? static_cast<std::int32_t>(kBlock) : 0);
  if (slot.op != Op::read || !stores_data_) return;
  std::array<std::uint64_t, kBlock / sizeof(std::uint64_t)> words;
  std::memcpy(words.data(), buffer(number), kBlock);
  const std::uint64_t stamp = stamps_[slot.file][slot.block];
  if (stamp == kUnknown) {
    EXPECT_EQ(std::count(words.begin(), words.end(), kUntouched), 0);
    return;
  }
  EXPECT_TRUE(std::all_of(words.begin(), words.end(), [&](auto word) { return word == stamp; }))
      << "slot " << number << " read " << words[0] << ", not " << stamp;
}

void Job::finish() {
  while (outstanding_ > 0) reap(1, spec_.depth);
}

void Job::step(Prng& prng, std::uint64_t left) {
  const std::uint64_t most = std::min<std::uint64_t>(room(), left);
  const std::uint64_t batch = most == 0 ? 0 : prng.below(most + 1);
  for (std::uint64_t i = 0; i < batch; ++i) {
    static constexpr Op kMix[] = {Op::read,  Op::read,  Op::read, Op::read,  Op::write,
                                  Op::write, Op::write, Op::trim, Op::flush, Op::data_sync};
    submit(kMix[prng.below(std::size(kMix))], static_cast<unsigned>(prng.below(targets_.size())),
           static_cast<unsigned>(prng.below(kBlocksPerSlot)));
  }
  commit(prng.chance(0.5));
  // Without room it has to wait, as fio does.
  const std::uint64_t least = room() == 0 || left == 0 ? 1 : 0;
  const auto min = static_cast<unsigned>(
      outstanding_ <= least ? outstanding_ : least + prng.below(outstanding_ - least + 1));
  const auto max =
      static_cast<unsigned>(std::max(1U, min) + prng.below(spec_.depth - std::max(1U, min) + 1));
  reap(min, max);
}

IoClass Job::class_of(Op op) const {
  if (op == Op::trim) return IoClass::trim;
  if (op == Op::read) return spec_.direct ? IoClass::sync_read : IoClass::async_read;
  return spec_.direct ? IoClass::sync_write : IoClass::async_write;
}

void Job::check_stats() {
  session_->refresh_stats();
  std::array<std::uint64_t, kIoClasses> ops{};
  std::array<std::uint64_t, kIoClasses> bytes{};
  for (unsigned i = 0; i < kOps; ++i) {
    const Op op = static_cast<Op>(i);
    ops[static_cast<unsigned>(class_of(op))] += ended_by_op_[i];
    if (op != Op::flush && op != Op::data_sync) {
      bytes[static_cast<unsigned>(class_of(op))] += ended_by_op_[i] * kBlock;
    }
  }
  const JobStats& stats = session_->stats();
  std::uint64_t queue_sum = 0;
  std::uint64_t device_sum = 0;
  for (unsigned c = 0; c < kIoClasses; ++c) {
    SCOPED_TRACE(name(static_cast<IoClass>(c)));
    const ClassStats& s = stats.classes[c];
    EXPECT_EQ(s.ops.load(), ops[c]);
    EXPECT_EQ(s.bytes.load(), bytes[c]);
    EXPECT_EQ(s.queue_ns.count(), ops[c]);
    EXPECT_EQ(s.device_ns.count(), ops[c]);
    EXPECT_EQ(s.reap_ns.count(), ops[c]);
    EXPECT_EQ(s.errors.load(), 0U);
    EXPECT_EQ(s.short_transfers.load(), 0U);
    EXPECT_LE(s.queued.load(), ops[c]);
    // An hour: a difference taken the wrong way round.
    EXPECT_LT(std::max({s.queue_ns.max(), s.device_ns.max(), s.reap_ns.max()}),
              3600 * kNsPerSecond);
    queue_sum += s.queue_ns.sum();
    device_sum += s.device_ns.sum();
  }
  EXPECT_EQ(stats.queue_integral_ns.load(), queue_sum);
  EXPECT_EQ(stats.depth_integral_ns.load(), device_sum);
  EXPECT_LE(stats.granted_by_others.load() + stats.carried.load(), stats.waited.load());
}

}  // namespace sluice::stack_test
