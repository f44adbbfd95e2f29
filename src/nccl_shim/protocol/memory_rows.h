// Which memory ranks lend each other, and where it is mapped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "nccl_shim/protocol/borrowed_segments.h"
#include "nccl_shim/protocol/device.h"
#include "nccl_shim/protocol/own_rank.h"
#include "nccl_shim/protocol/peer_process.h"
#include "nccl_shim/protocol/shared_memory.h"

namespace duet::nccl_shim {

// A segment of this rank's that is lent, until its end.
class LentSegment {
 public:
  LentSegment(SegmentMemory& memory, const Allocation& segment, const std::vector<int>& to)
      : memory_(memory), segment_(segment), exported_(memory.lend(segment, to)) {}
  ~LentSegment() { memory_.take_back(segment_, exported_); }
  LentSegment(const LentSegment&) = delete;
  LentSegment& operator=(const LentSegment&) = delete;

  const ExportedMemory& exported() const { return exported_; }

 private:
  SegmentMemory& memory_;
  const Allocation segment_;
  const ExportedMemory exported_;
};

// This rank's allocations and segments that have a row in the shared block. A row lives as long
// as its allocation, or as its segment is mapped where it was, and is emptied when a new one is
// lent after that.
class LentMemory {
 public:
  LentMemory(ShimDevice& device, SharedBlock& shared, int rank, int ranks);

  // Whether segments are lent; at first they are.
  void lend_segments(bool whether) { lends_segments_ = whether; }
  // Lends what `pointer` is in, if it is not yet. Throws Unavailable if that cannot be exported, or
  // if all rows are taken by allocations that exist. Some rows are for memory of the drop-in's own.
  enum class Owner { program, drop_in };
  BufferPlace place(const void* pointer, std::size_t bytes, Owner owner = Owner::program);
  // Before the end of memory of the drop-in's own, which no call uses any more.
  void take_back(const void* pointer, std::size_t bytes);

  std::size_t count() const { return rows_.size(); }

 private:
  struct Lent {
    Allocation allocation;
    std::uint32_t row;
    std::unique_ptr<LentSegment> segment;  // null: an allocation
  };
  bool is_known(const Allocation& allocation) const;
  void lend(const Allocation& allocation, Owner owner);
  void lend_new(const std::vector<Allocation>& all, Owner owner);
  void take_back(std::uintptr_t base);
  void take_back_ended();

  ShimDevice& device_;
  SharedBlock& shared_;
  int rank_;
  std::vector<int> other_processes_;
  bool lends_segments_ = true;
  std::map<std::uintptr_t, Lent> rows_;  // by base
  std::vector<std::uint32_t> free_;
};

// Other ranks' allocations as this rank reaches them.
class BorrowedMemory {
 public:
  BorrowedMemory(ShimDevice& device, SharedBlock& shared, int rank);
  ~BorrowedMemory();
  BorrowedMemory(const BorrowedMemory&) = delete;
  BorrowedMemory& operator=(const BorrowedMemory&) = delete;

  // The address of what `peer` has at `place`; maps what is new.
  char* address(int peer, const BufferPlace& place);
  // The same, where memory of a process that has ended cannot be mapped: throws PeerFailed then.
  // `process`: the peer's; null: this process.
  char* address(int peer, const BufferPlace& place, const PeerProcess* process);
  // Unmaps what its owners have freed.
  void release_ended();

 private:
  struct Mapping {
    std::uint64_t id = 0;  // 0: none
    void* base = nullptr;
    std::size_t bytes = 0;
  };
  void release(Mapping& mapping);

  ShimDevice& device_;
  SharedBlock& shared_;
  std::int32_t process_;
  BorrowedSegments segments_;
  std::array<std::array<Mapping, kRows>, kMostRanks> mappings_{};
  std::array<std::uint64_t, kMostRanks> deaths_seen_{};
};

// Memory of the drop-in's own on this rank's device that its peers write, to the end: slots, behind
// them packet buffers, and behind those the buffers of chunks.
class ReceiveMemory : OwnRank {
 public:
  // How long they are. All but slots are zero at first.
  struct Sizes {
    std::size_t slots, packets, chunks;
  };
  ReceiveMemory(const OwnRank& rank, const Sizes& sizes, LentMemory& lent,
                BorrowedMemory& borrowed);
  ~ReceiveMemory();
  ReceiveMemory(const ReceiveMemory&) = delete;
  ReceiveMemory& operator=(const ReceiveMemory&) = delete;

  bool exists() const { return memory_ != nullptr; }
  char* slots() const { return memory_; }
  char* packets() const { return memory_ + sizes_.slots; }
  char* chunks() const { return packets() + sizes_.packets; }

  // Maps the peers', which have all been made.
  void map();
  char* slots_of(int peer) { return borrowed_.address(peer, shared_.ranks[peer].slots); }
  char* packets_of(int peer) { return borrowed_.address(peer, shared_.ranks[peer].packets); }
  char* chunks_of(int peer) { return packets_of(peer) + sizes_.packets; }

 private:
  const Sizes sizes_;
  BorrowedMemory& borrowed_;
  char* memory_ = nullptr;
};

}  // namespace duet::nccl_shim
