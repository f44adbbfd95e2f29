// Which memory ranks lend each other, and where it is mapped.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "nccl_shim/protocol/device.h"
#include "nccl_shim/protocol/segment.h"

namespace duet::nccl_shim {

// This rank's allocations that have a row in the segment. A row lives as long as its allocation,
// and is emptied when a new one is lent after that.
class LentMemory {
 public:
  LentMemory(ShimDevice& device, Segment& segment, int rank);

  // Lends what `pointer` is in, if it is not yet. Throws Unavailable if that cannot be exported, or
  // if all rows are taken by allocations that exist. Some rows are for memory of the drop-in's own.
  enum class Owner { program, drop_in };
  BufferPlace place(const void* pointer, std::size_t bytes, Owner owner = Owner::program);

  std::size_t count() const { return rows_.size(); }

 private:
  std::uint32_t lend(const Allocation& allocation, Owner owner);
  void take_back(std::uintptr_t base);
  void take_back_ended();

  struct Lent {
    Allocation allocation;
    std::uint32_t row;
  };
  ShimDevice& device_;
  Segment& segment_;
  int rank_;
  std::map<std::uintptr_t, Lent> rows_;  // by base
  std::vector<std::uint32_t> free_;
};

// Other ranks' allocations as this rank reaches them.
class BorrowedMemory {
 public:
  BorrowedMemory(ShimDevice& device, Segment& segment, int rank);
  ~BorrowedMemory();
  BorrowedMemory(const BorrowedMemory&) = delete;
  BorrowedMemory& operator=(const BorrowedMemory&) = delete;

  // The address of what `peer` has at `place`; maps what is new.
  char* address(int peer, const BufferPlace& place);
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
  Segment& segment_;
  std::int32_t process_;
  std::array<std::array<Mapping, kRows>, kMostRanks> mappings_{};
  std::array<std::uint64_t, kMostRanks> deaths_seen_{};
};

}  // namespace duet::nccl_shim
