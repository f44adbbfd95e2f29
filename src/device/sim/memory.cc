#include "device/sim/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "device/contents.h"

namespace duet::sim {
namespace {

constexpr std::uint64_t kAlignment = 256;
// An address that no process can have on today's machines, so that dereferencing it faults.
constexpr std::uintptr_t kFirstPhantom = std::uintptr_t{1} << 60;

bool same(const Fill& a, const Fill& b) {
  return a.kind == b.kind && a.seed == b.seed && a.offset == b.offset && a.dtype == b.dtype &&
         a.op == b.op && a.ranks == b.ranks;
}

std::uint64_t rounded(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

SimMemory::SimMemory(const std::vector<Device*>& devices, std::uint64_t host_bytes)
    : next_phantom_(kFirstPhantom) {
  for (const Device* device : devices) {
    devices_[device] = static_cast<int>(pools_.size());
    pools_.push_back({0, device->info().memory_bytes});
  }
  pools_.push_back({0, host_bytes});
}

SimMemory::~SimMemory() {
  for (auto& [address, block] : blocks_) {
    if (block.real) std::free(reinterpret_cast<void*>(address));
  }
}

int SimMemory::index_of(const Device* owner) const {
  const auto found = devices_.find(owner);
  return found == devices_.end() ? -1 : found->second;
}

SimMemory::MemoryPool& SimMemory::pool(const Device& owner, MemoryKind kind) {
  return kind == MemoryKind::device ? pools_[static_cast<std::size_t>(index_of(&owner))]
                                    : pools_.back();
}

Span SimMemory::allocate(Device& owner, std::uint64_t bytes, MemoryKind kind) {
  MemoryPool& from = pool(owner, kind);
  if (bytes > from.capacity || rounded(bytes) > from.capacity - from.used) {
    throw OutOfMemory(fmt::format("{}: {} bytes of {} memory asked for, {} of {} in use",
                                  owner.info().name, bytes, name(kind), from.used, from.capacity));
  }
  std::unique_ptr<void, decltype(&std::free)> data{nullptr, &std::free};
  std::uintptr_t address = next_phantom_;
  const std::uint64_t most_real = kRealTotal / devices_.size();
  const bool room = from.real <= most_real && rounded(bytes) <= most_real - from.real;
  const bool real = bytes <= kAlwaysReal || (bytes <= kRealBuffer && room);
  if (real) {
    data.reset(std::aligned_alloc(kAlignment, rounded(bytes)));
    if (!data) throw OutOfMemory(fmt::format("{}: {} bytes", owner.info().name, bytes));
    std::memset(data.get(), kUnknownByte, rounded(bytes));
    address = reinterpret_cast<std::uintptr_t>(data.get());
  }
  blocks_[address] = {bytes, kind, &owner, real, false, ++versions_, {}};
  static_cast<void>(data.release());  // the block owns the memory
  if (real) {
    from.real += rounded(bytes);
  } else {
    next_phantom_ += rounded(bytes);
  }
  from.used += rounded(bytes);
  return {&owner, reinterpret_cast<std::byte*>(address), bytes, kind};
}

void SimMemory::release(const Span& span) noexcept {
  const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(span.data));
  if (found == blocks_.end()) return;
  const MemoryBlock& block = found->second;
  MemoryPool& from = pool(*block.owner, block.kind);
  from.used -= rounded(block.bytes);
  if (block.real) {
    from.real -= rounded(block.bytes);
    std::free(span.data);
  }
  blocks_.erase(found);
}

const SimMemory::MemoryBlock* SimMemory::find(const Span& span) const {
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(span.data);
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  const auto& [begin, block] = *std::prev(after);
  const std::uint64_t offset = address - begin;
  const bool inside = offset <= block.bytes && span.bytes <= block.bytes - offset;
  return inside && block.owner == span.owner && block.kind == span.kind ? &block : nullptr;
}

SimMemory::MemoryBlock* SimMemory::find(const Span& span) {
  return const_cast<MemoryBlock*>(static_cast<const SimMemory*>(this)->find(span));
}

MemoryLocation SimMemory::require_own(const Span& span, const char* what) const {
  const int device = index_of(span.owner);
  if (device < 0) {
    throw BadArgument(fmt::format("the {} is not memory of this simulated machine", what));
  }
  const bool empty = span.data == nullptr && span.bytes == 0;
  if (!empty && find(span) == nullptr) {
    throw BadArgument(fmt::format("{}: the {} of {} bytes does not lie in a buffer",
                                  span.owner->info().name, what, span.bytes));
  }
  return {device, span.kind};
}

MemoryLocation SimMemory::require_semaphore(const Semaphore& semaphore) const {
  const MemoryLocation location = require_own(semaphore.word, "semaphore");
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(semaphore.word.data);
  if (semaphore.word.bytes != sizeof(std::uint64_t) || address % sizeof(std::uint64_t) != 0) {
    throw BadArgument("a semaphore is an aligned word of 8 bytes");
  }
  require_contents(semaphore.word, "semaphore");
  return location;
}

bool SimMemory::has_contents(const Span& span) const {
  const MemoryBlock* block = find(span);
  return block != nullptr && block->real && !block->lost;
}

void SimMemory::require_contents(const Span& span, const char* what) const {
  require_own(span, what);
  const MemoryBlock* block = find(span);
  if (span.bytes > 0 && !(block != nullptr && block->real)) {
    throw BadArgument(fmt::format(
        "{}: the {} lies in a buffer that is only accounted for: over {} bytes there are no "
        "contents",
        span.owner->info().name, what, kRealBuffer));
  }
}

// What is unknown stays so, which takes no time: calls repeat.
void SimMemory::lose(const Span& to) {
  MemoryBlock* block = find(to);
  if (block == nullptr || !block->real || block->lost) return;
  std::memset(to.data, kUnknownByte, to.bytes);
  block->version = ++versions_;
  block->lost = true;
}

void SimMemory::move(const Span& to, const Span& from) {
  MemoryBlock* target = find(to);
  const MemoryBlock* source = find(from);
  if (to.bytes == 0 || target == nullptr || source == nullptr || !target->real) return;
  if (!source->real) return lose(to);
  target->lost |= source->lost;
  // A benchmark repeats one copy thousands of times, so a copy that would change nothing is left
  // out. This holds for device memory only: the CPU may write to host memory unnoticed.
  LastMove& last = target->moved;
  const bool trusted = to.kind == MemoryKind::device && from.kind == MemoryKind::device;
  if (trusted && target != source && last.to == to.data && last.from == from.data &&
      last.bytes == to.bytes && last.to_version == target->version &&
      last.from_version == source->version && last.epoch == epoch_) {
    return;
  }
  std::memmove(to.data, from.data, to.bytes);
  target->version = ++versions_;
  last = {to.data, from.data, to.bytes, target->version, source->version, epoch_};
}

void SimMemory::fill(const Span& span, const Fill& fill) {
  MemoryBlock* block = find(span);
  if (span.bytes == 0 || block == nullptr || !block->real) return;
  const bool whole = span.bytes == block->bytes;
  // As a copy that would change nothing; ranks are delayed by such fills.
  const bool trusted = whole && span.kind == MemoryKind::device && block->filled;
  if (trusted && same(*block->filled, fill) && block->filled_version == block->version &&
      block->filled_epoch == epoch_) {
    return;
  }
  write_fill(fill, span.data, 0, span.bytes);
  if (whole) block->lost = false;
  block->version = ++versions_;
  if (!whole) return;
  block->filled = fill;
  block->filled_version = block->version;
  block->filled_epoch = epoch_;
}

const std::vector<std::byte>& SimMemory::reduced_digits(const Fill& fill, std::uint64_t bytes) {
  constexpr std::size_t kMostKept = 4;  // as many as a rank compares before the next one does
  for (const ReducedDigits& each : reduced_) {
    if (same(each.fill, fill) && each.contents.size() == bytes) return each.contents;
  }
  if (reduced_.size() >= kMostKept) reduced_.pop_front();
  reduced_.push_back({fill, std::vector<std::byte>(bytes)});
  write_fill(fill, reduced_.back().contents.data(), 0, bytes);
  return reduced_.back().contents;
}

Difference SimMemory::compare(const Span& span, const Fill& fill) {
  if (fill.kind == FillKind::digits_reduced && span.bytes > 0) {
    const std::vector<std::byte>& expected = reduced_digits(fill, span.bytes);
    if (std::memcmp(expected.data(), span.data, span.bytes) == 0) return {};
  }
  return compare_fill(fill, span.data, 0, span.bytes);
}

void SimMemory::write(const Span& to, const void* from) {
  require_contents(to, "span to write");
  if (to.bytes == 0) return;
  std::memcpy(to.data, from, to.bytes);
  find(to)->version = ++versions_;
}

void SimMemory::read(const Span& from, void* to) const {
  require_contents(from, "span to read");
  if (from.bytes > 0) std::memcpy(to, from.data, from.bytes);
}

std::uint64_t SimMemory::semaphore(const Semaphore& semaphore) const {
  std::uint64_t value = 0;
  if (find(semaphore.word) != nullptr) std::memcpy(&value, semaphore.word.data, sizeof value);
  return value;
}

void SimMemory::set_semaphore(const Semaphore& semaphore, std::uint64_t value) {
  MemoryBlock* block = find(semaphore.word);
  if (block == nullptr) return;
  std::memcpy(semaphore.word.data, &value, sizeof value);
  block->version = ++versions_;
}

}  // namespace duet::sim
