#include "scheduler/config/stats.h"

namespace sluice {

namespace {
constexpr StatRow kRows[] = {
#define CLASS_COUNTER(name, unit, help) {#name, "class", "counter", unit, help},
#define CLASS_HISTOGRAM(name, unit, help) {#name, "class", "histogram", unit, help},
#define JOB_COUNTER(name, unit, help) {#name, "job", "counter", unit, help},
#define LEAF_COUNTER(name, unit, help) {#name, "leaf", "counter", unit, help},
#include "scheduler/config/stats.def"
};
}  // namespace

std::span<const StatRow> stat_rows() { return kRows; }

}  // namespace sluice
