#include "scheduler/stack/report.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace sluice {

namespace json = boost::json;

namespace {

json::array tail_report(const JobResults& results) {
  json::array out;
  for (const IoRecord& io : results.tail) {
    out.push_back(json::object{{"at_ns", io.arrived_ns - results.first_ns},
                               {"queue_ns", io.issued_ns - io.arrived_ns},
                               {"device_ns", io.found_ns - io.issued_ns},
                               {"reap_ns", io.told_ns - io.found_ns},
                               {"op", word(io.op)},
                               {"class", name(io.io_class)},
                               {"file", io.leaf->path()},
                               {"offset", io.offset},
                               {"length", io.length},
                               {"ahead", io.ahead},
                               {"bypassed", io.path == Path::bypassed},
                               {"error", io.result < 0 ? -io.result : 0}});
  }
  return out;
}

}  // namespace

json::object job_report(const SessionConfig& config, const JobResults& results) {
  json::object out{{"job", config.job},
                   {"depth", config.depth},
                   {"direct", config.direct},
                   {"tunables", to_json(config.tunables)}};
  for (auto& [key, value] : to_json(*results.stats)) out[key] = value;
  out["tail"] = tail_report(results);
  return out;
}

json::object leaf_report(const Leaf& leaf) {
  LeafStats stats;
  leaf.queue().read_stats(stats);
  json::object limits;
  const QueueLimits applied = leaf.queue().limits();
  for (unsigned i = 0; i < kIoClasses; ++i) {
    const ClassLimits& c = applied.classes[i];
    limits[name(static_cast<IoClass>(i))] =
        json::object{{"min_active", c.min_active}, {"max_active", c.max_active}};
  }
  const std::string_view kind = leaf.device().kind();
  json::object out{{"path", leaf.path()},
                   {"device", json::string_view(kind.data(), kind.size())},
                   {"rotational", leaf.device().capabilities().rotational},
                   {"queue", leaf.queue().kind() == SLUICE_queue_fast ? "fast" : "classic"},
                   {"max_active", applied.max_active},
                   {"order", applied.by_offset ? "offset" : "fifo"},
                   {"nia_credit", applied.background.credit},
                   {"nia_delay", applied.background.delay},
                   {"aggregation_limit", applied.aggregation.size_bytes},
                   {"read_gap_limit", applied.aggregation.read_gap_bytes},
                   {"limits", std::move(limits)}};
  for (auto& [key, value] : to_json(stats)) out[key] = value;
  return out;
}

namespace {
Error failed(const std::string& option, const std::string& what, const std::string& path) {
  const int code = errno;
  return {code, option + "=" + path + ": can't " + what + ": " + std::strerror(code)};
}
}  // namespace

Status write_whole_file(const std::string& option, const std::string& path,
                        const std::string& text) {
  const std::string scratch = path + ".tmp." + std::to_string(getpid());
  {
    std::ofstream out(scratch, std::ios::binary | std::ios::trunc);
    if (!out) return failed(option, "write", path);
    out << text;
    out.flush();
    if (!out) {
      const Error error = failed(option, "write", path);
      unlink(scratch.c_str());
      return error;
    }
  }
  std::error_code error;
  std::filesystem::rename(scratch, path, error);
  if (error) {
    unlink(scratch.c_str());
    return Error{error.value(), option + "=" + path + ": can't write: " + error.message()};
  }
  return Done{};
}

Status check_writable(const std::string& option, const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Error{EISDIR, option + "=" + path + ": is a directory; name a file in it"};
  }
  // It will be replaced, which root may do even to /dev/null.
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    return Error{EINVAL, option + "=" + path + ": is no regular file; name one, or a new one"};
  }
  // Not the name that a job which ends right now writes to.
  const std::string scratch = path + ".try." + std::to_string(getpid());
  {
    std::ofstream out(scratch, std::ios::binary | std::ios::trunc);
    if (!out) return failed(option, "write there", path);
  }
  unlink(scratch.c_str());
  return Done{};
}

}  // namespace sluice
