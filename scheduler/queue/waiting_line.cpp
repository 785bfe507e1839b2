#include "scheduler/queue/waiting_line.h"

#include "scheduler/base/check.h"

namespace sluice {

void WaitingLine::configure(const Config& config) {
  SLUICE_CHECK(empty());
  by_offset_ = config.by_offset;
  bucket_bits_ = config.bucket_bits;
  sorted_ = config.by_offset || config.any_may_leave;
}

void WaitingLine::push_sorted(Request& request) {
  request.order_key = by_offset_ ? request.arrived_ns >> bucket_bits_ : ++arrivals_;
  tree_.insert(request);
}

Request& WaitingLine::next_sorted(std::uint64_t position) noexcept {
  Request& first = *tree_.begin();
  if (!by_offset_) return first;
  struct Place {
    std::uint64_t bucket;
    std::uint64_t offset;
  };
  const auto before = [](const Request& r, const Place& place) {
    return r.order_key != place.bucket ? r.order_key < place.bucket : r.offset < place.offset;
  };
  const auto at = tree_.lower_bound(Place{first.order_key, position}, before);
  return at != tree_.end() && at->order_key == first.order_key ? *at : first;
}

void WaitingLine::remove(Request& request) {
  if (sorted_) {
    tree_.erase(tree_.iterator_to(request));
    return;
  }
  SLUICE_CHECK(&list_.front() == &request);
  list_.pop_front();
}

}  // namespace sluice
