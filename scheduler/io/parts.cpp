#include "scheduler/io/parts.h"

namespace sluice {

Span span(const Request& head) noexcept {
  if (!is_aggregate(head)) return {head.offset, head.length, 1, 0};
  Span out{head.first_part->offset, 0, 0, 0};
  std::uint64_t end = out.offset;
  for (const Request* part = head.first_part; part != nullptr; part = part->next_part) {
    out.gap_bytes += static_cast<std::uint32_t>(part->offset - end);
    end = part->offset + part->length;
    ++out.parts;
  }
  out.length = static_cast<std::uint32_t>(end - out.offset);
  return out;
}

unsigned gather(const Request& head, void* scrap, iovec* vector) noexcept {
  unsigned count = 0;
  std::uint64_t end = head.first_part->offset;
  for (const Request* part = head.first_part; part != nullptr; part = part->next_part) {
    if (part->offset > end) vector[count++] = {scrap, part->offset - end};
    vector[count++] = {part->buffer, part->length};
    end = part->offset + part->length;
  }
  return count;
}

}  // namespace sluice
