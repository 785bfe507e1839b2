#include "scheduler/queue/queue_limits.h"

#include <cerrno>

namespace sluice {

namespace {

QueueLimits nvme_profile() {
  QueueLimits limits;
  limits.classes.fill({1, QueueLimits::kUnlimited});
  return limits;
}

// Defaults of OpenZFS (module/zfs/vdev_queue.c); they date from SATA's 32 tags.
QueueLimits openzfs_profile() {
  QueueLimits limits;
  limits[IoClass::sync_read] = {10, 10};
  limits[IoClass::sync_write] = {10, 10};
  limits[IoClass::async_read] = {1, 3};
  limits[IoClass::async_write] = {2, 10};
  limits[IoClass::scrub] = {1, 3};
  limits[IoClass::rebuild] = {1, 3};
  limits[IoClass::trim] = {1, 2};
  limits.max_active = 1000;
  return limits;
}

void override_class(ClassLimits& limits, unsigned min_active, unsigned max_active) {
  if (max_active != 0) {
    limits.max_active = max_active;
    // A lowered maximum carries a profile's minimum down with it; only what the user wrote can
    // clash.
    if (min_active == 0 && limits.min_active > max_active) limits.min_active = max_active;
  }
  if (min_active != 0) {
    limits.min_active = min_active;
    if (max_active == 0 && limits.max_active < min_active) limits.max_active = min_active;
  }
}

}  // namespace

Result<QueueLimits> queue_limits(const Tunables& t) {
  QueueLimits limits =
      t.queue_profile == SLUICE_queue_profile_openzfs ? openzfs_profile() : nvme_profile();
  override_class(limits[IoClass::sync_read], t.sync_read_min_active, t.sync_read_max_active);
  override_class(limits[IoClass::sync_write], t.sync_write_min_active, t.sync_write_max_active);
  override_class(limits[IoClass::async_read], t.async_read_min_active, t.async_read_max_active);
  override_class(limits[IoClass::async_write], t.async_write_min_active, t.async_write_max_active);
  override_class(limits[IoClass::scrub], t.scrub_min_active, t.scrub_max_active);
  override_class(limits[IoClass::rebuild], t.rebuild_min_active, t.rebuild_max_active);
  override_class(limits[IoClass::trim], t.trim_min_active, t.trim_max_active);
  if (t.max_active != 0) limits.max_active = t.max_active;

  for (unsigned i = 0; i < kIoClasses; ++i) {
    const ClassLimits& c = limits.classes[i];
    const std::string which = name(static_cast<IoClass>(i));
    if (c.min_active > c.max_active) {
      return Error{EINVAL, which + "_min_active=" + std::to_string(c.min_active) + " is above " +
                               which + "_max_active=" + std::to_string(c.max_active) +
                               "; raise the maximum or lower the minimum"};
    }
  }
  return limits;
}

}  // namespace sluice
