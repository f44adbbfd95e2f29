#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "device/sim/costs.h"

namespace duet::sim {

// Above either limit a buffer is phantom: a machine of 8 x 192 GB must run on a small host. Each
// device has an equal part of the total, so that equal allocations are real on all devices or on
// none.
inline constexpr std::uint64_t kRealBuffer = 16ull << 20;
inline constexpr std::uint64_t kRealTotal = 2ull << 30;
inline constexpr std::uint64_t kAlwaysReal = 1ull
                                             << 20;  // semaphores and the like: whatever the total

// What memory holds that was never written, and what a copy from a phantom buffer leaves.
inline constexpr unsigned char kUnknownByte = 0xDB;

// The versions of all blocks that an item touched when it was last reduced: with the same ones the
// result is there already.
using ReducedVersions = std::vector<std::uint64_t>;

// The memory of a simulated machine: allocations and contents. Large buffers are phantom: they
// count towards capacity and have addresses of their own, but hold nothing.
class SimMemory {
 public:
  SimMemory(const std::vector<Device*>& devices, std::uint64_t host_bytes);
  ~SimMemory();
  SimMemory(const SimMemory&) = delete;
  SimMemory& operator=(const SimMemory&) = delete;

  Span allocate(Device& owner, std::uint64_t bytes, MemoryKind kind);  // throws OutOfMemory
  void release(const Span& span) noexcept;

  // Where the span lies. Throws BadArgument unless it is within one buffer of this machine.
  MemoryLocation require_own(const Span& span, const char* what) const;
  // Throws BadArgument unless it is also an aligned word with contents.
  MemoryLocation require_semaphore(const Semaphore& semaphore) const;
  void require_contents(const Span& span, const char* what) const;  // throws BadArgument
  // Of a buffer that is not phantom, and into which nothing came by way of one that is since it was
  // filled whole.
  bool has_contents(const Span& span) const;

  // What operations leave behind when they end. Nothing happens to phantom memory.
  void move(const Span& to, const Span& from);
  // `last` belongs to the caller, one for each item; empty at first.
  void reduce(const KernelItem& item, DType dtype, Reduction op, ReducedVersions& last);
  void fill(const Span& span, const Fill& fill);
  void write(const Span& to, const void* from);
  void read(const Span& from, void* to) const;
  std::uint64_t semaphore(const Semaphore& semaphore) const;
  void set_semaphore(const Semaphore& semaphore, std::uint64_t value);
  void changed_anywhere() { ++epoch_; }  // after code of the program, which may write anywhere

 private:
  struct MemoryPool {
    std::uint64_t used = 0, capacity = 0;
    std::uint64_t real = 0;  // bytes with contents
  };
  // That `source` was the last thing moved to here, and nothing has changed since.
  struct LastMove {
    const std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::size_t bytes = 0;
    std::uint64_t to_version = 0, from_version = 0, epoch = 0;
  };
  struct MemoryBlock {
    std::uint64_t bytes = 0;
    MemoryKind kind = MemoryKind::device;
    Device* owner = nullptr;
    bool real = false;
    bool lost = false;          // written from a phantom buffer since it was last filled
    std::uint64_t version = 0;  // grows whenever contents may have changed
    LastMove moved;
  };
  using Blocks = std::map<std::uintptr_t, MemoryBlock>;

  ReducedVersions state_of(const KernelItem& item) const;
  bool can_remember(const KernelItem& item) const;
  MemoryPool& pool(const Device& owner, MemoryKind kind);
  int index_of(const Device* owner) const;  // -1: not of this machine
  const MemoryBlock* find(const Span& span) const;
  MemoryBlock* find(const Span& span);

  std::unordered_map<const Device*, int> devices_;  // their numbers
  std::vector<MemoryPool> pools_;                   // by device; the last is the host's
  Blocks blocks_;  // by address, to look up and never to walk: addresses vary by run
  std::uintptr_t next_phantom_;
  std::uint64_t versions_ = 0;
  std::uint64_t epoch_ = 0;
};

}  // namespace duet::sim
