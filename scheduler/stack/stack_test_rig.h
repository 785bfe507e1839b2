// What the tests of the stack share: a stack on real devices, a job that drives a session and
// checks what it promises, and a watchdog against waiting for ever.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/devices/registry.h"  // lint: allow layer: the stack is tested on real devices
#include "scheduler/base/clock.h"
#include "scheduler/base/prng.h"
#include "scheduler/base/units.h"
#include "scheduler/stack/stack.h"

namespace sluice::stack_test {

/// Ends the process, naming the test, when it lives for longer than `seconds`: a thread that sleeps
/// for ever can't be told to stop.
class Watchdog {
 public:
  explicit Watchdog(unsigned seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

using Settings = std::vector<std::pair<std::string, std::string>>;
/// Defaults, with `settings` set. Values of text rows must outlive the result.
Tunables tunables(const Settings& settings);

/// A process: its devices and its stack.
struct World {
  MonotonicClock clock;
  DeviceRegistry devices{clock, 64 * kMiB};
  Stack stack{clock, devices};

  Leaf& leaf(const std::string& path, const Tunables& tunables);
};

struct LeafCounts {
  std::uint64_t granted;
  std::uint64_t waited;
  std::uint64_t active_max;
  std::uint64_t waiting_max;
};
LeafCounts counts(const Leaf& leaf);

/// A file in the folder for temporary ones, gone at the end.
class TempFile {
 public:
  explicit TempFile(std::uint64_t bytes);
  ~TempFile();
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const std::string& path() const { return path_; }
  int fd() const { return fd_; }

 private:
  std::string path_;
  int fd_;
};

/// Why device=auto can't be used here; nothing if it can.
std::optional<std::string> io_uring_missing();

inline constexpr std::uint32_t kBlock = 4096;
inline constexpr unsigned kBlocksPerSlot = 4;

struct JobSpec {
  std::string name = "job";
  unsigned depth = 16;
  bool direct = true;
  Tunables tunables{};
  std::vector<std::string> paths{"/sluice-test/a"};
  std::vector<int> fds{};         ///< one a path; none: -1
  std::uint64_t first_block = 0;  ///< jobs that share a file keep apart
  std::uint64_t blocks() const { return std::uint64_t{depth} * kBlocksPerSlot; }
};

/// One job, as fio drives it. Checks at each reap that a slot comes back once, that the result is
/// right, that the data is (where the device stores any), and how many come back. Threads: one,
/// that which made it.
class Job {
 public:
  Job(Stack& stack, const JobSpec& spec);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Session& session() { return *session_; }
  unsigned outstanding() const { return outstanding_; }
  unsigned room() const { return static_cast<unsigned>(idle_.size()); }

  /// Stages one request in some idle slot; `salt` chooses among the slot's blocks.
  void submit(Op op, unsigned file = 0, unsigned salt = 0);
  void commit(bool deferrable = false);
  /// Returns how many came.
  unsigned reap(unsigned min, unsigned max);
  /// Reaps until nothing is outstanding.
  void finish();

  /// `ops` random requests in random batches, then all reaped. `pause` is called now and then, when
  /// the job is away.
  template <typename Pause>
  void run(Prng& prng, std::uint64_t ops, Pause pause) {
    for (const std::uint64_t target = ended_ + ops; ended_ < target;) {
      const std::uint64_t left = target - ended_ - outstanding_;
      step(prng, left);
      if (prng.chance(0.02)) pause();
    }
  }
  void run(Prng& prng, std::uint64_t ops) {
    run(prng, ops, [] {});
  }

  /// A random batch, and a reap that leaves some outstanding.
  void some(Prng& prng) { step(prng, 8); }

  /// Statistics so far against what came back.
  void check_stats();
  std::uint64_t ended() const { return ended_; }
  /// Those that may have passed a queue: all but flushes.
  std::uint64_t ended_not_flush() const { return ended_ - ended_by_op_[2] - ended_by_op_[3]; }

  Status close();

 private:
  struct Slot {
    bool busy = false;
    Op op = Op::read;
    unsigned file = 0;
    std::uint64_t block = 0;  ///< among the job's
  };

  void step(Prng& prng, std::uint64_t left);
  std::byte* buffer(unsigned slot) { return buffers_.get() + std::size_t{slot} * kBlock; }
  void fill(unsigned slot, std::uint64_t stamp);
  void on_end(unsigned slot, std::int32_t result);
  IoClass class_of(Op op) const;

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  Stack& stack_;
  JobSpec spec_;
  bool stores_data_ = false;
  std::unique_ptr<std::byte, Free> buffers_;
  std::vector<Slot> slots_;
  std::vector<unsigned> idle_;
  std::vector<Target*> targets_;
  std::vector<std::vector<std::uint64_t>> stamps_;  ///< what each block holds, by file
  std::uint64_t last_stamp_ = 0;
  unsigned outstanding_ = 0;
  std::uint64_t ended_ = 0;
  std::array<std::uint64_t, kOps> ended_by_op_{};
  std::unique_ptr<Session> session_;
};

}  // namespace sluice::stack_test
