#include "scheduler/queue/queue_limits.h"

#include <algorithm>
#include <cerrno>

#include "scheduler/base/units.h"

namespace sluice {

namespace {

// No order either: virtual disks say that they rotate.
QueueLimits nvme_profile() {
  QueueLimits limits;
  limits.classes.fill({1, QueueLimits::kUnlimited});
  return limits;
}

// Defaults of OpenZFS (module/zfs/vdev_queue.c); the limits date from SATA's 32 tags.
QueueLimits openzfs_profile(bool rotational) {
  QueueLimits limits;
  limits[IoClass::sync_read] = {10, 10};
  limits[IoClass::sync_write] = {10, 10};
  limits[IoClass::async_read] = {1, 3};
  limits[IoClass::async_write] = {2, 10};
  limits[IoClass::scrub] = {1, 3};
  limits[IoClass::rebuild] = {1, 3};
  limits[IoClass::trim] = {1, 2};
  limits.max_active = 1000;
  limits.background = {.delay = 5, .credit = 5};
  limits.by_offset = true;
  limits.aggregation = {.size_bytes = static_cast<std::uint32_t>(rotational ? kMiB : 128 * kKiB),
                        .read_gap_bytes = 32 * kKiB};
  return limits;
}

/// The tunables of one class; 0: the profile's.
struct ClassTunables {
  unsigned min_active;
  unsigned max_active;
};

std::array<ClassTunables, kIoClasses> class_tunables(const Tunables& t) {
  return {{{t.sync_read_min_active, t.sync_read_max_active},
           {t.sync_write_min_active, t.sync_write_max_active},
           {t.async_read_min_active, t.async_read_max_active},
           {t.async_write_min_active, t.async_write_max_active},
           {t.scrub_min_active, t.scrub_max_active},
           {t.rebuild_min_active, t.rebuild_max_active},
           {t.trim_min_active, t.trim_max_active}}};
}

// A lowered maximum carries a profile's minimum down with it; only what the user wrote can clash.
void override_class(ClassLimits& limits, const ClassTunables& user) {
  if (user.max_active != 0) {
    limits.max_active = user.max_active;
    if (user.min_active == 0) limits.min_active = std::min(limits.min_active, user.max_active);
  }
  if (user.min_active != 0) {
    limits.min_active = user.min_active;
    if (user.max_active == 0) limits.max_active = std::max(limits.max_active, user.min_active);
  }
}

void override_background(BackgroundLimits& limits, const Tunables& t) {
  // Either alone turns yielding on, with OpenZFS's value for the other.
  if (limits.credit == 0 && (t.nia_credit != 0 || t.nia_delay != 0)) limits = {5, 5};
  if (t.nia_delay != 0) limits.delay = t.nia_delay;
  if (t.nia_credit != 0) limits.credit = t.nia_credit;
}

void override_order(QueueLimits& limits, const Tunables& t, bool rotational) {
  switch (t.queue_order) {
    case SLUICE_queue_order_fifo: limits.by_offset = false; break;
    case SLUICE_queue_order_offset: limits.by_offset = true; break;
    case SLUICE_queue_order_auto: limits.by_offset = rotational; break;
    default: break;
  }
  limits.bucket_bits = t.order_bucket_bits;
  if (t.aggregation_limit != 0) {
    limits.aggregation.size_bytes = static_cast<std::uint32_t>(t.aggregation_limit);
  }
  if (t.read_gap_limit != 0) {
    limits.aggregation.read_gap_bytes = static_cast<std::uint32_t>(t.read_gap_limit);
  }
}

bool can_wait(const QueueLimits& limits) {
  return limits.max_active < QueueLimits::kUnlimited ||
         std::any_of(limits.classes.begin(), limits.classes.end(),
                     [](const ClassLimits& c) { return c.max_active < QueueLimits::kUnlimited; });
}

std::string setting(IoClass c, const char* which, std::uint64_t value) {
  return std::string(name(c)) + which + std::to_string(value);
}

Status check(const QueueLimits& limits, const std::array<ClassTunables, kIoClasses>& user) {
  std::string minimums;
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < kIoClasses; ++i) {
    const ClassLimits& c = limits.classes[i];
    const auto which = static_cast<IoClass>(i);
    const std::string minimum = setting(which, "_min_active=", c.min_active);
    if (c.min_active > c.max_active) {
      return Error{EINVAL, minimum + " is above " + setting(which, "_max_active=", c.max_active) +
                               "; raise the maximum or lower the minimum"};
    }
    if (user[i].min_active == 0) continue;
    minimums += (minimums.empty() ? "" : " + ") + minimum;
    sum += c.min_active;
  }
  if (sum > limits.max_active) {
    return Error{EINVAL,
                 minimums + " can't be kept under max_active=" + std::to_string(limits.max_active) +
                     "; raise max_active or lower the minimums"};
  }
  if (limits.dirty.min_percent >= limits.dirty.max_percent) {
    return Error{
        EINVAL, "async_write_active_min_dirty_percent=" + std::to_string(limits.dirty.min_percent) +
                    " is not below async_write_active_max_dirty_percent=" +
                    std::to_string(limits.dirty.max_percent)};
  }
  return Done{};
}

}  // namespace

Result<QueueLimits> queue_limits(const Tunables& t, bool rotational) {
  QueueLimits limits = t.queue_profile == SLUICE_queue_profile_openzfs ? openzfs_profile(rotational)
                                                                       : nvme_profile();
  const auto user = class_tunables(t);
  for (unsigned i = 0; i < kIoClasses; ++i) override_class(limits.classes[i], user[i]);
  if (t.max_active != 0) limits.max_active = t.max_active;
  override_background(limits.background, t);
  override_order(limits, t, rotational);
  limits.dirty = {t.async_write_active_min_dirty_percent, t.async_write_active_max_dirty_percent};
  if (const Status status = check(limits, user); !status) return status.error();
  if (!can_wait(limits)) {
    // Nothing to sort or to merge: spare the hot path the bookkeeping.
    limits.by_offset = false;
    limits.aggregation = {};
  }
  return limits;
}

}  // namespace sluice
