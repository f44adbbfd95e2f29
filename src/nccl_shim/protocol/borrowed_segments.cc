#include "nccl_shim/protocol/borrowed_segments.h"

#include <algorithm>
#include <iterator>

#include "core/error.h"

namespace duet::nccl_shim {
namespace {

constexpr std::uint64_t kWindow = kMostOfSegments;
constexpr std::uint64_t kRange = kWindow + kMostOfSegments;

std::uint64_t window_of(std::uint64_t base) { return base / kWindow; }

}  // namespace

BorrowedSegments::BorrowedSegments(SegmentMemory* memory, SharedBlock& shared, std::int32_t process)
    : memory_(memory), shared_(shared), process_(process) {}

BorrowedSegments::~BorrowedSegments() {
  for (int peer = 0; peer < kMostRanks; ++peer) {
    for (auto& [row, mapping] : mappings_[peer]) release(peer, mapping);
  }
  for (const auto& [key, range] : ranges_) memory_->unreserve(range.base, kRange);
}

char* BorrowedSegments::address(int peer, const BufferPlace& place) {
  if (memory_ == nullptr) throw Unavailable("this device maps no segments");
  const std::vector<Mapping*> all = mappings(peer, place);
  const std::uint64_t base = all.front()->base, window = window_of(base);
  if (std::all_of(all.begin(), all.end(), [](const Mapping* each) { return each->reached; })) {
    return reinterpret_cast<char*>(base) + place.offset;
  }
  for (Mapping* each : all) map(peer, window, *each);
  return range(peer, window).base + (base - window * kWindow) + place.offset;
}

std::vector<BorrowedSegments::Mapping*> BorrowedSegments::mappings(int peer,
                                                                   const BufferPlace& place) {
  std::vector<Mapping*> all;
  std::uint32_t number = place.row;
  for (std::uint32_t i = 0; i < place.segments; ++i) {
    const MemoryRow& row = shared_.rows[peer][number];
    Mapping& mapping = mappings_[peer][number];
    if (mapping.id != row.id.load(std::memory_order_acquire)) {
      release(peer, mapping);
      import_row(peer, row, mapping);
    }
    all.push_back(&mapping);
    number = row.next.load(std::memory_order_acquire);
  }
  return all;
}

void BorrowedSegments::import_row(int peer, const MemoryRow& row, Mapping& mapping) {
  Mapping made{row.id.load(std::memory_order_acquire), row.base, row.bytes, row.handle};
  made.imported = shared_.ranks[peer].process != process_;
  if (made.imported) {
    made.handle = memory_->import_segment(shared_.ranks[peer].process, row.memory);
  } else {
    made.reached = memory_->reaches(reinterpret_cast<const void*>(row.base));
  }
  mapping = made;
}

void BorrowedSegments::map(int peer, std::uint64_t window, Mapping& mapping) {
  char*& at = mapping.at[window_of(mapping.base) - window];
  if (at != nullptr) return;
  Range& into = range(peer, window);
  char* const wanted = into.base + (mapping.base - window * kWindow);
  memory_->map(wanted, mapping.bytes, mapping.handle);
  at = wanted;
  ++into.mappings;
}

BorrowedSegments::Range& BorrowedSegments::range(int peer, std::uint64_t window) {
  Range& found = ranges_[{peer, window}];
  if (found.base == nullptr) {
    try {
      found.base = memory_->reserve(kRange);
    } catch (const Error&) {
      ranges_.erase({peer, window});
      throw;
    }
  }
  return found;
}

void BorrowedSegments::release_ended(int peer) {
  auto& of_peer = mappings_[peer];
  for (auto each = of_peer.begin(); each != of_peer.end();) {
    auto& [row, mapping] = *each;
    if (mapping.id == shared_.rows[peer][row].id.load(std::memory_order_acquire)) {
      ++each;
      continue;
    }
    release(peer, mapping);
    each = of_peer.erase(each);
  }
}

void BorrowedSegments::release(int peer, Mapping& mapping) {
  for (std::uint64_t before = 0; before < mapping.at.size(); ++before) {
    if (mapping.at[before] == nullptr) continue;
    memory_->unmap(mapping.at[before], mapping.bytes);
    const auto of = ranges_.find({peer, window_of(mapping.base) - before});
    if (--of->second.mappings > 0) continue;
    memory_->unreserve(of->second.base, kRange);
    ranges_.erase(of);
  }
  if (mapping.imported) memory_->release(mapping.handle);
  mapping = {};
}

}  // namespace duet::nccl_shim
