#include "nccl_shim/protocol/memory_rows.h"

#include "core/error.h"

namespace duet::nccl_shim {
namespace {

// Slots, and two staging buffers of each length, which doubles.
constexpr std::size_t kRowsOfTheDropIn = 64;

}  // namespace

LentMemory::LentMemory(ShimDevice& device, Segment& segment, int rank)
    : device_(device), segment_(segment), rank_(rank) {
  for (std::uint32_t row = kRows; row-- > 0;) free_.push_back(row);
}

BufferPlace LentMemory::place(const void* pointer, std::size_t bytes, Owner owner) {
  const Allocation allocation = device_.allocation(pointer, bytes);
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(pointer) - allocation.base;
  const auto known = rows_.find(allocation.base);
  if (known != rows_.end()) {
    if (known->second.allocation.id == allocation.id) return {known->second.row, offset};
    take_back(allocation.base);
  }
  return {lend(allocation, owner), offset};
}

std::uint32_t LentMemory::lend(const Allocation& allocation, Owner owner) {
  take_back_ended();
  if (free_.size() <= (owner == Owner::drop_in ? 0 : kRowsOfTheDropIn)) {
    throw Unavailable("no more than " + std::to_string(kRows) +
                      " allocations can be lent to other ranks");
  }
  const ExportedMemory memory = device_.export_memory(allocation);
  const std::uint32_t row = free_.back();
  free_.pop_back();
  MemoryRow& entry = segment_.rows[rank_][row];
  entry.base = allocation.base;
  entry.bytes = allocation.bytes;
  entry.memory = memory;
  entry.id.store(allocation.id, std::memory_order_release);
  rows_[allocation.base] = {allocation, row};
  return row;
}

void LentMemory::take_back(std::uintptr_t base) {
  const auto found = rows_.find(base);
  segment_.rows[rank_][found->second.row].id.store(0, std::memory_order_release);
  segment_.ranks[rank_].deaths.fetch_add(1, std::memory_order_release);
  free_.push_back(found->second.row);
  rows_.erase(found);
}

void LentMemory::take_back_ended() {
  std::vector<std::uintptr_t> ended;
  for (const auto& [base, lent] : rows_) {
    if (!device_.exists(lent.allocation)) ended.push_back(base);
  }
  for (const std::uintptr_t base : ended) take_back(base);
}

BorrowedMemory::BorrowedMemory(ShimDevice& device, Segment& segment, int rank)
    : device_(device), segment_(segment), process_(segment.ranks[rank].process) {}

BorrowedMemory::~BorrowedMemory() {
  for (auto& of_peer : mappings_) {
    for (Mapping& mapping : of_peer) release(mapping);
  }
}

char* BorrowedMemory::address(int peer, const BufferPlace& place) {
  const MemoryRow& row = segment_.rows[peer][place.row];
  if (segment_.ranks[peer].process == process_) {
    return reinterpret_cast<char*>(row.base) + place.offset;
  }
  Mapping& mapping = mappings_[peer][place.row];
  const std::uint64_t id = row.id.load(std::memory_order_acquire);
  if (mapping.id != id) {
    release(mapping);
    mapping = {id, device_.import_memory(row.memory, row.bytes), row.bytes};
  }
  return static_cast<char*>(mapping.base) + place.offset;
}

void BorrowedMemory::release_ended() {
  for (int peer = 0; peer < kMostRanks; ++peer) {
    const std::uint64_t deaths = segment_.ranks[peer].deaths.load(std::memory_order_acquire);
    if (deaths == deaths_seen_[peer]) continue;
    deaths_seen_[peer] = deaths;
    for (std::uint32_t row = 0; row < kRows; ++row) {
      Mapping& mapping = mappings_[peer][row];
      if (mapping.id != segment_.rows[peer][row].id.load(std::memory_order_acquire))
        release(mapping);
    }
  }
}

void BorrowedMemory::release(Mapping& mapping) {
  if (mapping.id != 0) device_.unimport_memory(mapping.base, mapping.bytes);
  mapping = {};
}

}  // namespace duet::nccl_shim
