#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "device/sim/costs.h"

namespace duet::sim {

// Limits in bytes. A buffer above either limit is phantom, because a simulated machine of 8 x 192
// GB must run on a small host. The total is divided equally among the devices, so that equal
// allocations are real on all devices or on none.
inline constexpr std::uint64_t kRealBuffer = 16ull << 20;
inline constexpr std::uint64_t kRealTotal = 2ull << 30;
// Buffers up to this size are real whatever the total, so that semaphores have values.
inline constexpr std::uint64_t kAlwaysReal = 1ull << 20;

// The content of memory that was never written, or whose contents a phantom buffer replaced.
inline constexpr unsigned char kUnknownByte = 0xDB;

// The versions of all blocks that an item touched when it was last reduced. While they are the
// same, the destinations hold the result already.
using ReducedVersions = std::vector<std::uint64_t>;

// The memory of a simulated machine: allocations and contents. Large buffers are phantom: they
// count towards capacity and have addresses of their own, but no contents.
class SimMemory {
 public:
  // `host_bytes` is the capacity for pinned and pageable memory of all devices together.
  SimMemory(const std::vector<Device*>& devices, std::uint64_t host_bytes);
  ~SimMemory();
  SimMemory(const SimMemory&) = delete;
  SimMemory& operator=(const SimMemory&) = delete;

  Span allocate(Device& owner, std::uint64_t bytes, MemoryKind kind);  // throws OutOfMemory
  void release(const Span& span) noexcept;

  // Returns the location of the span. Throws BadArgument unless the span lies in one buffer of this
  // machine. `what` names the span in messages.
  MemoryLocation require_own(const Span& span, const char* what) const;
  // The same for a semaphore. Throws BadArgument also if it is no aligned word or has no contents.
  MemoryLocation require_semaphore(const Semaphore& semaphore) const;
  // Throws BadArgument unless the span lies in a buffer of this machine that is not phantom.
  void require_contents(const Span& span, const char* what) const;
  // Whether the span's buffer is not phantom and nothing was copied into it from a phantom buffer,
  // directly or through other buffers, since it was last filled as a whole.
  bool has_contents(const Span& span) const;

  // Results of operations, written when an operation ends. Phantom memory is left as it is.
  void move(const Span& to, const Span& from);
  // The caller keeps `last`, one for each item; empty at first.
  void reduce(const KernelItem& item, DType dtype, Reduction op, ReducedVersions& last);
  // Likewise; many rows are not computed, and their contents are then unknown.
  void normalise(const NormKernel& kernel, ReducedVersions& last);
  void fill(const Span& span, const Fill& fill);
  // As compare_fill(). The span must have contents.
  Difference compare(const Span& span, const Fill& fill);
  void write(const Span& to, const void* from);
  void read(const Span& from, void* to) const;
  std::uint64_t semaphore(const Semaphore& semaphore) const;
  void set_semaphore(const Semaphore& semaphore, std::uint64_t value);
  void changed_anywhere() { ++epoch_; }  // call after a task's body, which may write anywhere

 private:
  struct MemoryPool {
    std::uint64_t used = 0, capacity = 0;  // bytes
    std::uint64_t real = 0;                // bytes with contents
  };
  // The last copy into a block. While the versions and the epoch are the same, repeating the copy
  // would change nothing.
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
    bool lost = false;          // has bytes of a phantom buffer since it was last filled
    std::uint64_t version = 0;  // changes whenever contents may have changed
    LastMove moved;
    // The last fill of the whole block; while version and epoch are the same, it holds that.
    std::optional<Fill> filled = std::nullopt;
    std::uint64_t filled_version = 0, filled_epoch = 0;
  };
  // What a reduction of digits leaves, which is the same on all ranks of an all_reduce.
  struct ReducedDigits {
    Fill fill;
    std::vector<std::byte> contents;
  };
  using Blocks = std::map<std::uintptr_t, MemoryBlock>;

  const std::vector<std::byte>& reduced_digits(const Fill& fill, std::uint64_t bytes);
  ReducedVersions state_of(const KernelItem& item) const;
  bool can_remember(const KernelItem& item) const;
  bool keeps_any(const std::vector<Span>& spans) const;
  bool holds_all(const std::vector<Span>& spans) const;
  void write_result(const Span& to, const std::byte* result);
  void lose(const Span& to);
  MemoryPool& pool(const Device& owner, MemoryKind kind);
  int index_of(const Device* owner) const;  // -1: not of this machine
  const MemoryBlock* find(const Span& span) const;
  MemoryBlock* find(const Span& span);

  std::unordered_map<const Device*, int> devices_;  // number of each device
  std::vector<MemoryPool> pools_;                   // by device; the last is the host's
  // By address. Results must not depend on the order, because addresses differ from run to run.
  Blocks blocks_;
  std::uintptr_t next_phantom_;        // address of the next phantom buffer
  std::uint64_t versions_ = 0;         // the last version that a block got
  std::uint64_t epoch_ = 0;            // changes when any memory may have changed
  std::deque<ReducedDigits> reduced_;  // of the latest comparisons
};

}  // namespace duet::sim
