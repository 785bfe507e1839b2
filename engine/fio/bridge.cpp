// The stack behind the C ABI of bridge.h.
#include "engine/fio/bridge.h"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "engine/devices/registry.h"
#include "engine/devices/uring.h"
#include "engine/fio/path_check.h"
#include "scheduler/base/tsc_clock.h"
#include "scheduler/config/describe.h"
#include "scheduler/stack/report.h"
#include "scheduler/stack/stack.h"

namespace {

using namespace sluice;  // NOLINT: this file is the boundary

const sluice_host* host = nullptr;

class FioClock final : public Clock {
 public:
  std::uint64_t now_ns() const noexcept override { return host->now_ns(); }
};

struct Process {
  FioClock fio_clock;
  std::unique_ptr<TscClock> tsc_clock = TscClock::calibrate();
  const Clock& clock = tsc_clock ? static_cast<const Clock&>(*tsc_clock) : fio_clock;
  DeviceRegistry devices{clock};
  Stack stack{clock, devices, [](const std::string& line) { host->say(line.c_str()); }};
};

// Never destroyed: a job's thread may still be inside when fio's main thread exits.
Process& process() {
  static auto* const instance = new Process;
  return *instance;
}

int fail(sluice_text* text, const Error& error) {
  std::snprintf(text->line, sizeof text->line, "%s", error.message.c_str());
  return error.code > 0 ? error.code : EINVAL;
}

// No exception may unwind into fio: out of memory and whatever else ends as an error line.
template <typename Body>
int guarded(sluice_text* text, Body body) noexcept {
  try {
    const Status status = body();
    return status.ok() ? 0 : fail(text, status.error());
  } catch (const std::exception& e) {
    return fail(text, {ENOMEM, std::string("internal error: ") + e.what()});
  }
}

// Of all numbers: fio's own check lets what is below zero by (options.c).
Status check_ranges(const Tunables& tunables) {
  for (const TunableRow& row : tunable_rows()) {
    const auto* const field = reinterpret_cast<const char*>(&tunables) + row.offset;
    std::int64_t value = 0;
    switch (row.kind) {
      case TunableKind::uint:
      case TunableKind::boolean: value = *reinterpret_cast<const std::int32_t*>(field); break;
      case TunableKind::size:
      case TunableKind::time: value = *reinterpret_cast<const std::int64_t*>(field); break;
      default: continue;
    }
    const auto wide = static_cast<std::uint64_t>(value);
    if (value >= 0 && wide >= row.min && wide <= row.max) continue;
    const std::string unit = row.kind == TunableKind::time ? " us" : "";
    return Error{EINVAL, std::string(row.name) + "=" + std::to_string(value) + unit +
                             " is out of range; allowed: " + std::to_string(row.min) + " to " +
                             std::to_string(row.max) + unit};
  }
  return Done{};
}

}  // namespace

struct sluice_job {
  std::string name;
  Tunables tunables;
  bool direct;
  bool writes;
  std::unique_ptr<Session> session;
  std::map<std::string, Leaf*> leaves;  // by the name that fio uses
};

namespace {

// A file may be opened once an I/O (openfiles=): resolving its name each time would show.
Result<Leaf*> leaf_of(sluice_job& job, const char* path) {
  if (const auto known = job.leaves.find(path); known != job.leaves.end()) return known->second;
  auto leaf = process().stack.join(path, job.tunables, job.name);
  if (leaf) job.leaves.emplace(path, leaf.value());
  return leaf;
}

// What a device itself can't do; of files and block devices check_path() knows more.
Status check_limits(const std::string& path, const DeviceLimits& limits, uint64_t block_bytes,
                    uint64_t need_bytes) {
  if (limits.size_bytes != 0 && need_bytes > limits.size_bytes) {
    return Error{ENOSPC, path + ": the job needs " + std::to_string(need_bytes) +
                             " bytes, but this device holds " + std::to_string(limits.size_bytes) +
                             "; lower size= or offset="};
  }
  if (block_bytes % limits.logical_block_bytes != 0) {
    return Error{EINVAL, path + ": block size " + std::to_string(block_bytes) +
                             " is not a multiple of this device's " +
                             std::to_string(limits.logical_block_bytes) + " bytes; change bs="};
  }
  return Done{};
}

// Opaque to C, so that the hot calls cost no look-up.
Target& target_of(sluice_file* file) { return *reinterpret_cast<Target*>(file); }
Session& session_of(sluice_session* session) { return *reinterpret_cast<Session*>(session); }
}  // namespace

void sluice_init(const sluice_host* given) { host = given; }

int sluice_job_create(const sluice_job_facts* facts, sluice_job** job, sluice_text* error) {
  return guarded(error, [&]() -> Status {
    const Tunables& tunables = *facts->tunables;
    if (const Status ranges = check_ranges(tunables); !ranges) return ranges;
    if (tunables.device == SLUICE_device_auto) {
      if (Status usable = probe_io_uring(); !usable) return usable;
    }
    if (tunables.stats_json != nullptr) {
      Status writable = check_writable("stats_json", tunables.stats_json);
      if (!writable) return writable;
    }
    if (tunables.trace != nullptr) {
      if (Status writable = check_writable("trace", tunables.trace); !writable) return writable;
    }
    // Strings stay fio's, which frees them after cleanup; what outlives a job copies them.
    *job = new sluice_job{facts->name, tunables, facts->direct, facts->writes, nullptr, {}};
    return Done{};
  });
}

void sluice_job_destroy(sluice_job* job) { delete job; }

int sluice_job_join(sluice_job* job, const char* path, uint64_t block_bytes, uint64_t need_bytes,
                    sluice_text* error) {
  return guarded(error, [&]() -> Status {
    if (job->tunables.device == SLUICE_device_auto) {
      Status usable = check_path({path, job->writes, job->direct, block_bytes, need_bytes});
      if (!usable) return usable;
    }
    auto leaf = leaf_of(*job, path);
    if (!leaf) return leaf.error();
    return check_limits(path, leaf.value()->device().limits(), block_bytes, need_bytes);
  });
}

int sluice_job_start(sluice_job* job, const sluice_start* start, sluice_session** session,
                     sluice_text* note, sluice_text* error) {
  return guarded(error, [&]() -> Status {
    SessionConfig config;
    config.job = job->name;
    config.depth = start->depth;
    config.direct = job->direct;
    config.tunables = job->tunables;
    config.buffers = start->buffers;
    config.buffer_bytes = start->buffer_bytes;
    config.buffer_unit_bytes = start->buffer_unit_bytes;
    config.files = start->files;
    std::string text;
    auto opened = process().stack.open_session(config, text);
    if (!opened) return opened.error();
    std::snprintf(note->line, sizeof note->line, "%s", text.c_str());
    job->session = std::move(opened.value());
    *session = reinterpret_cast<sluice_session*>(job->session.get());
    return Done{};
  });
}

int sluice_job_end(sluice_job* job, sluice_text* error) {
  if (job->session == nullptr) return 0;
  return guarded(error, [&] { return process().stack.close_session(std::move(job->session)); });
}

int sluice_file_open(sluice_job* job, const char* path, int fd, sluice_file** file,
                     sluice_text* error) {
  return guarded(error, [&]() -> Status {
    auto leaf = leaf_of(*job, path);
    if (!leaf) return leaf.error();
    *file = reinterpret_cast<sluice_file*>(&job->session->open_file(*leaf.value(), fd));
    return Done{};
  });
}

void sluice_file_close(sluice_job* job, sluice_file* file) {
  // After cleanup fio may still close files: the session took them with it.
  if (job->session != nullptr) job->session->close_file(target_of(file));
}

void sluice_hurry(sluice_session* session) { session_of(session).hurry(); }

static_assert(static_cast<int>(Op::read) == SLUICE_READ);
static_assert(static_cast<int>(Op::write) == SLUICE_WRITE);
static_assert(static_cast<int>(Op::flush) == SLUICE_FLUSH);
static_assert(static_cast<int>(Op::data_sync) == SLUICE_DATA_SYNC);
static_assert(static_cast<int>(Op::trim) == SLUICE_TRIM);

void sluice_queue(sluice_session* session, unsigned slot, sluice_op op, sluice_file* file,
                  void* buffer, uint32_t length, uint64_t offset) {
  session_of(session).submit(slot, static_cast<Op>(op), target_of(file), buffer, length, offset);
}

int sluice_commit(sluice_session* session, bool deferrable) {
  return session_of(session).commit(deferrable);
}

int sluice_reap(sluice_session* session, unsigned min, unsigned max) {
  return session_of(session).reap(min, max);
}

unsigned sluice_ended(sluice_session* session, unsigned i, int32_t* result) {
  const Session::Ended ended = session_of(session).ended(i);
  *result = ended.result;
  return ended.slot;
}

bool sluice_replace(sluice_session* session, unsigned slot, void* buffer, sluice_replacement* out) {
  const auto given = session_of(session).replace(slot, buffer);
  if (!given) return false;
  *out = {given->slot, static_cast<unsigned>(session_of(session).slots().size()), given->buffer};
  return true;
}

bool sluice_abandoned(sluice_session* session, unsigned slot) {
  return session_of(session).slots()[slot].abandoned;
}
