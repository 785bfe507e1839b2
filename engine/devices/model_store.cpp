#include "engine/devices/model_store.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "scheduler/base/check.h"
#include "scheduler/io/parts.h"

namespace sluice {
namespace {

/// A result is an int32, and a whole number of blocks. (The kernel's limit is 0x7ffff000.)
constexpr std::uint64_t kTransferBytesMax = 0x7fff'0000;

bool changes_data(Op op) { return op == Op::write || op == Op::trim; }

}  // namespace

Result<std::unique_ptr<ModelStore>> ModelStore::open(const ModelConfig& config) {
  if (Status valid = check_model_config(config); !valid) return valid.error();
  const auto map = [](std::uint64_t bytes) {
    Result<SparseMemory> memory = SparseMemory::map(bytes);
    if (memory) return memory;
    return Result<SparseMemory>(
        Error{memory.error().code, "model: " + memory.error().message +
                                       "; it takes address space, not "
                                       "memory: allow it with sysctl vm.overcommit_memory=0 and "
                                       "ulimit -v unlimited, or use a smaller size"});
  };
  Result<SparseMemory> image = map(config.size_bytes);
  if (!image) return image.error();
  Result<SparseMemory> epochs =
      map(config.size_bytes / config.logical_block_bytes * sizeof(std::uint32_t));
  if (!epochs) return epochs.error();
  std::unique_ptr<ModelStore> store(
      new ModelStore(config, std::move(image.value()), std::move(epochs.value())));
  if (config.crashable) {
    Result<SparseMemory> durable = map(config.size_bytes);
    if (!durable) return durable.error();
    store->crash_log_ =
        std::make_unique<CrashLog>(std::move(durable.value()), config.logical_block_bytes);
  }
  return store;
}

ModelStore::ModelStore(const ModelConfig& config, SparseMemory image, SparseMemory epochs)
    : config_(config), image_(std::move(image)), epochs_(std::move(epochs)) {}

/// How much of the request lies on the device; negative: -errno.
std::int64_t ModelStore::usable_bytes(const Request& request) const noexcept {
  if (((request.offset | request.length) & (config_.logical_block_bytes - 1)) != 0) return -EINVAL;
  if (request.offset >= config_.size_bytes) {
    return request.op == Op::write && request.length > 0 ? -ENOSPC : 0;
  }
  const std::uint64_t room = config_.size_bytes - request.offset;
  const std::uint64_t length = std::min<std::uint64_t>(request.length, room);
  return static_cast<std::int64_t>(request.op == Op::trim ? length
                                                          : std::min(length, kTransferBytesMax));
}

ModelStore::Ticket ModelStore::begin(const Request& request) {
  if (crash_log_ == nullptr) return {};
  const std::lock_guard lock(crash_mutex_);
  Ticket ticket{.lifetime = crashes_};
  if (is_flush(request.op)) ticket.value = crash_log_->covered_now();
  if (changes_data(request.op)) {
    for_each_part(request, [&](const Request& part) {
      const std::uint64_t record = log_change(part);
      if (ticket.value == 0) ticket.value = record;
    });
  }
  return ticket;
}

/// The id of the record; 0 if there is nothing to log.
std::uint64_t ModelStore::log_change(const Request& request) {
  const std::int64_t length = usable_bytes(request);
  if (length <= 0) return 0;
  const auto* const data = static_cast<const std::byte*>(request.buffer);
  return crash_log_->begin(request.op == Op::write ? data : nullptr, request.offset,
                           static_cast<std::uint64_t>(length));
}

std::uint64_t ModelStore::take_dirty() {
  epoch_.fetch_add(1, std::memory_order_relaxed);
  return dirty_bytes_.exchange(0, std::memory_order_relaxed);
}

std::int32_t ModelStore::finish(const Request& request, Ticket ticket) {
  std::unique_lock<std::mutex> lock;
  if (crash_log_ != nullptr) {
    lock = std::unique_lock(crash_mutex_);
    if (ticket.lifetime != crashes_) return -EIO;
  }
  if (is_flush(request.op)) {
    if (crash_log_ != nullptr) crash_log_->cover(ticket.value);
    return 0;
  }
  std::int64_t result = 0;
  bool ended = false;  // a part was not transferred whole: the rest doesn't count
  const std::uint64_t from = span(request).offset;
  for_each_part(request, [&](const Request& part) {
    const std::int64_t length = finish_part(part, ticket.value);
    if (ended) return;
    // What lies in a gap before it counts too; an error only if nothing was transferred before.
    if (length > 0) {
      result = static_cast<std::int64_t>(part.offset - from) + length;
    } else if (result == 0) {
      result = length;
    }
    ended = length != part.length;
  });
  return request.op == Op::trim && result > 0 ? 0 : static_cast<std::int32_t>(result);
}

/// Bytes, or -errno. `record` is the next part's afterwards.
std::int64_t ModelStore::finish_part(const Request& request, std::uint64_t& record) {
  const std::int64_t length = usable_bytes(request);
  if (length <= 0) return length;
  move(request, static_cast<std::uint64_t>(length));
  if (crash_log_ != nullptr && changes_data(request.op)) {
    SLUICE_CHECK(crash_log_->complete(record++));
    if (!config_.write_cache) crash_log_->cover(crash_log_->covered_now());
  }
  return length;
}

void ModelStore::move(const Request& request, std::uint64_t length) {
  auto* const buffer = static_cast<std::byte*>(request.buffer);
  for (std::uint64_t done = 0; done < length;) {
    const std::uint64_t offset = request.offset + done;
    const std::uint64_t piece = std::min(length - done, kStripeBytes - offset % kStripeBytes);
    std::byte* const here = image_.data() + offset;
    const std::lock_guard lock(stripes_[offset / kStripeBytes % kStripes].mutex);
    if (request.op == Op::read) {
      std::memcpy(buffer + done, here, piece);
    } else if (request.op == Op::write) {
      std::memcpy(here, buffer + done, piece);
      if (config_.write_cache) mark_dirty(offset, piece);
    } else if (piece == kStripeBytes) {
      image_.drop(offset, piece);
    } else {
      std::memset(here, 0, piece);
    }
    done += piece;
  }
}

void ModelStore::mark_dirty(std::uint64_t offset, std::uint64_t length) noexcept {
  auto* const epochs = reinterpret_cast<std::uint32_t*>(epochs_.data());
  const std::uint32_t now = epoch_.load(std::memory_order_relaxed);
  const std::uint64_t end = (offset + length) / config_.logical_block_bytes;
  std::uint64_t fresh = 0;
  for (std::uint64_t sector = offset / config_.logical_block_bytes; sector < end; ++sector) {
    fresh += epochs[sector] != now ? 1U : 0U;
    epochs[sector] = now;
  }
  dirty_bytes_.fetch_add(fresh * config_.logical_block_bytes, std::memory_order_relaxed);
}

void ModelStore::crash(Prng& prng) {
  SLUICE_CHECK(crash_log_ != nullptr);
  const std::lock_guard lock(crash_mutex_);
  ++crashes_;
  crash_log_->crash(prng,
                    [this](std::uint64_t offset, const std::byte* data, std::uint64_t length) {
                      std::memcpy(image_.data() + offset, data, length);
                    });
  take_dirty();
}

}  // namespace sluice
