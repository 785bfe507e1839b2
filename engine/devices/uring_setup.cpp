#include "engine/devices/uring_setup.h"

#include <sys/resource.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "engine/devices/uring.h"
#include "scheduler/base/units.h"

namespace sluice {

int open_ring(io_uring& ring, unsigned entries) {
  // Best first; each step drops what the oldest kernel without it lacks. DEFER_TASKRUN (6.1) keeps
  // completions off the submission path, SINGLE_ISSUER (6.0) its locks; COOP_TASKRUN (5.19) spares
  // interrupts of the job's thread; CLAMP is 5.6.
  static constexpr unsigned kAttempts[] = {
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
          IORING_SETUP_CLAMP,
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
          IORING_SETUP_CLAMP,
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_CLAMP,
      IORING_SETUP_CLAMP,
      0,
  };
  int status = -EINVAL;
  for (const unsigned flags : kAttempts) {
    io_uring_params params{};
    params.flags = flags;
    status = io_uring_queue_init_params(entries, &ring, &params);
    if (status != -EINVAL) break;
  }
  return status;
}

Error ring_error(int status) {
  if (status == -ENOSYS) {
    return {ENOSYS, "this kernel has no io_uring; use Linux 5.6 or newer, or device=model|null"};
  }
  if (status == -EPERM || status == -EACCES) {
    std::ifstream file("/proc/sys/kernel/io_uring_disabled");
    int disabled = 0;
    if (file >> disabled && disabled != 0) {
      return {EPERM, "io_uring is forbidden here by the sysctl kernel.io_uring_disabled=" +
                         std::to_string(disabled) + "; set it to 0, or use device=model|null"};
    }
    return {EPERM,
            "io_uring is forbidden here (seccomp, as in most containers); allow io_uring_setup, or "
            "use device=model|null"};
  }
  if (status == -ENOMEM) {
    return {ENOMEM,
            "no memory for an io_uring: raise the memory-lock limit (ulimit -l), or lower "
            "iodepth"};
  }
  return {-status, std::string("io_uring_setup failed: ") + std::strerror(-status)};
}

Status probe_io_uring() {
  io_uring ring{};
  if (const int status = open_ring(ring, 2); status < 0) return ring_error(status);
  io_uring_queue_exit(&ring);
  return Done{};
}

bool VectorArena::open(unsigned entries) {
  const std::size_t bytes = std::size_t{entries} * kMaxVector * sizeof(iovec);
  vectors_.reset(static_cast<iovec*>(std::malloc(bytes)));
  // Aligned for O_DIRECT, whatever the block size.
  scrap_.reset(std::aligned_alloc(64 * kKiB, kMaxGapBytes));
  return vectors_ != nullptr && scrap_ != nullptr;
}

namespace {

std::string lock_limit_note(std::uint64_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return "buffers are not registered: " + std::to_string(bytes / kKiB) +
         " KiB exceed the memory-lock limit of " + std::to_string(limit.rlim_cur / kKiB) +
         " KiB (ulimit -l); fixedbufs=0 silences this";
}

}  // namespace

RegisteredBuffers register_buffers(io_uring& ring, const ChannelConfig& config, std::string& note) {
  if (config.buffers == nullptr || config.buffer_bytes == 0) return {};
  const std::uint64_t unit =
      config.buffer_unit_bytes == 0 ? config.buffer_bytes : config.buffer_unit_bytes;
  if (unit > kGiB) return {};  // the kernel's bound for one registered buffer
  RegisteredBuffers out;
  out.base = static_cast<char*>(config.buffers);
  out.chunk_bytes = kGiB / unit * unit;
  out.single = config.buffer_bytes <= out.chunk_bytes;
  std::vector<iovec> chunks;
  for (std::uint64_t at = 0; at < config.buffer_bytes; at += out.chunk_bytes) {
    chunks.push_back({out.base + at, std::min(out.chunk_bytes, config.buffer_bytes - at)});
  }
  const int status =
      io_uring_register_buffers(&ring, chunks.data(), static_cast<unsigned>(chunks.size()));
  if (status == -ENOMEM) note = lock_limit_note(config.buffer_bytes);
  if (status < 0) return {};  // e.g. file-backed iomem: plain reads and writes do
  out.bytes = config.buffer_bytes;
  return out;
}

}  // namespace sluice
