#include "nccl_shim/protocol/memory_rows.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "core/error.h"

namespace duet::nccl_shim {
namespace {

// Slots, and four staging buffers of each length, which doubles.
constexpr std::size_t kRowsOfTheDropIn = 128;

// Of a row: a segment's handle may name another one later.
std::uint64_t id_of(const Allocation& allocation) {
  static std::atomic<std::uint64_t> segments{0};
  constexpr std::uint64_t kSegment = 1ull << 63;
  return allocation.is_segment ? kSegment | ++segments : allocation.id;
}

bool equal(const Allocation& one, const Allocation& other) {
  return one.base == other.base && one.id == other.id && one.is_segment == other.is_segment &&
         one.bytes == other.bytes;
}

}  // namespace

LentMemory::LentMemory(ShimDevice& device, SharedBlock& shared, int rank, int ranks)
    : device_(device), shared_(shared), rank_(rank) {
  for (std::uint32_t row = kRows; row-- > 0;) free_.push_back(row);
  for (int peer = 0; peer < ranks; ++peer) {
    const std::int32_t process = shared.ranks[peer].process;
    if (process != shared.ranks[rank].process) other_processes_.push_back(process);
  }
}

BufferPlace LentMemory::place(const void* pointer, std::size_t bytes, Owner owner) {
  const std::vector<Allocation> all = device_.allocations(pointer, bytes);
  const Allocation &first = all.front(), &last = all.back();
  if (first.is_segment && !lends_segments_) throw Unavailable("not all ranks can map segments");
  if (last.base + last.bytes - first.base > kMostOfSegments) {
    throw Unavailable("a buffer of too many segments");
  }
  const bool all_known =
      std::all_of(all.begin(), all.end(), [this](const auto& each) { return is_known(each); });
  if (!all_known) lend_new(all, owner);
  for (std::size_t i = 1; i < all.size(); ++i) {
    MemoryRow& before = shared_.rows[rank_][rows_.at(all[i - 1].base).row];
    before.next.store(rows_.at(all[i].base).row, std::memory_order_release);
  }
  const auto segments = static_cast<std::uint32_t>(first.is_segment ? all.size() : 0);
  return {rows_.at(first.base).row, segments,
          reinterpret_cast<std::uintptr_t>(pointer) - first.base};
}

void LentMemory::take_back(const void* pointer, std::size_t bytes) {
  for (const Allocation& each : device_.allocations(pointer, bytes)) {
    if (is_known(each)) take_back(each.base);
  }
}

bool LentMemory::is_known(const Allocation& allocation) const {
  const auto known = rows_.find(allocation.base);
  return known != rows_.end() && equal(known->second.allocation, allocation);
}

// All of them or none: no record names what is lent here yet.
void LentMemory::lend_new(const std::vector<Allocation>& all, Owner owner) {
  take_back_ended();
  std::vector<std::uintptr_t> made;
  try {
    for (const Allocation& each : all) {
      if (is_known(each)) continue;
      lend(each, owner);
      made.push_back(each.base);
    }
  } catch (const Error&) {
    for (const std::uintptr_t base : made) take_back(base);
    throw;
  }
}

void LentMemory::lend(const Allocation& allocation, Owner owner) {
  if (free_.size() <= (owner == Owner::drop_in ? 0 : kRowsOfTheDropIn)) {
    throw Unavailable("no more than " + std::to_string(kRows) +
                      " allocations can be lent to other ranks");
  }
  std::unique_ptr<LentSegment> lent;
  if (allocation.is_segment) {
    lent = std::make_unique<LentSegment>(*device_.segments(), allocation, other_processes_);
  }
  const ExportedMemory memory = lent ? lent->exported() : device_.export_memory(allocation);
  const std::uint32_t row = free_.back();
  free_.pop_back();
  MemoryRow& entry = shared_.rows[rank_][row];
  entry.base = allocation.base;
  entry.bytes = allocation.bytes;
  entry.memory = memory;
  entry.handle = allocation.is_segment ? allocation.id : 0;
  entry.id.store(id_of(allocation), std::memory_order_release);
  rows_[allocation.base] = {allocation, row, std::move(lent)};
}

void LentMemory::take_back(std::uintptr_t base) {
  const auto found = rows_.find(base);
  shared_.rows[rank_][found->second.row].id.store(0, std::memory_order_release);
  shared_.ranks[rank_].deaths.fetch_add(1, std::memory_order_release);
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

BorrowedMemory::BorrowedMemory(ShimDevice& device, SharedBlock& shared, int rank)
    : device_(device),
      shared_(shared),
      process_(shared.ranks[rank].process),
      segments_(device.segments(), shared, process_) {}

BorrowedMemory::~BorrowedMemory() {
  for (auto& of_peer : mappings_) {
    for (Mapping& mapping : of_peer) release(mapping);
  }
}

char* BorrowedMemory::address(int peer, const BufferPlace& place) {
  if (place.segments > 0) return segments_.address(peer, place);
  const MemoryRow& row = shared_.rows[peer][place.row];
  if (shared_.ranks[peer].process == process_) {
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

char* BorrowedMemory::address(int peer, const BufferPlace& place, const PeerProcess* process) {
  try {
    return address(peer, place);
  } catch (const Error&) {
    if (process == nullptr || !process->has_ended()) throw;
    throw PeerFailed("the process of rank " + std::to_string(peer) + " has ended");
  }
}

void BorrowedMemory::release_ended() {
  for (int peer = 0; peer < kMostRanks; ++peer) {
    const std::uint64_t deaths = shared_.ranks[peer].deaths.load(std::memory_order_acquire);
    if (deaths == deaths_seen_[peer]) continue;
    deaths_seen_[peer] = deaths;
    segments_.release_ended(peer);
    for (std::uint32_t row = 0; row < kRows; ++row) {
      Mapping& mapping = mappings_[peer][row];
      if (mapping.id != shared_.rows[peer][row].id.load(std::memory_order_acquire))
        release(mapping);
    }
  }
}

void BorrowedMemory::release(Mapping& mapping) {
  if (mapping.id != 0) device_.unimport_memory(mapping.base, mapping.bytes);
  mapping = {};
}

ReceiveMemory::ReceiveMemory(const OwnRank& rank, const Sizes& sizes, LentMemory& lent,
                             BorrowedMemory& borrowed)
    : OwnRank(rank), sizes_(sizes), borrowed_(borrowed) {
  const std::size_t zero = sizes.packets + sizes.chunks, bytes = sizes.slots + zero;
  if (bytes == 0) return;
  memory_ = static_cast<char*>(device_.allocate(bytes));
  try {
    RankEntry& own = shared_.ranks[rank_];
    own.slots = own.packets = lent.place(memory_, bytes, LentMemory::Owner::drop_in);
    own.packets.offset += sizes.slots;
    if (zero > 0) device_.clear(packets(), zero);
  } catch (const Error&) {
    device_.free(memory_);
    throw;
  }
}

ReceiveMemory::~ReceiveMemory() {
  if (exists()) device_.free(memory_);
}

void ReceiveMemory::map() {
  for (int peer = 0; peer < ranks_ && exists(); ++peer) {
    if (peer != rank_) slots_of(peer);
  }
}

}  // namespace duet::nccl_shim
