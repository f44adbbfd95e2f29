// Segments (device.h) that ranks have lent, as another rank reaches them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "nccl_shim/protocol/device.h"
#include "nccl_shim/protocol/shared_memory.h"

namespace duet::nccl_shim {

// From the first byte of a buffer's segments to the last.
constexpr std::uint64_t kMostOfSegments = 32ull << 30;

// A segment is mapped once, at an address that keeps its distance to the owner's other segments, so
// that buffers are in one piece here as well, however many segments they share:
//
//   the owner's addresses:      | window 0                    | window 1                    | ...
//   a range for window 0:       [ segments whose base is in it,  and behind it              ]
//   a range for window 1:                                     [ ...
//
// A range takes buffers whose first segment begins in its window. Both are kMostOfSegments long
// beyond that, so a segment may have to be mapped in two ranges.
class BorrowedSegments {
 public:
  // `memory` is null where the device has no segments. `process`: this rank's.
  BorrowedSegments(SegmentMemory* memory, SharedBlock& shared, std::int32_t process);
  ~BorrowedSegments();
  BorrowedSegments(const BorrowedSegments&) = delete;
  BorrowedSegments& operator=(const BorrowedSegments&) = delete;

  // The address of what `peer` has at `place`; maps what is new.
  char* address(int peer, const BufferPlace& place);
  // Unmaps what `peer` has taken back.
  void release_ended(int peer);

 private:
  struct Mapping {
    std::uint64_t id = 0;               // 0: none
    std::uint64_t base = 0, bytes = 0;  // the owner's
    std::uint64_t handle = 0;
    bool imported = false;      // or the owner's handle, in its process
    bool reached = false;       // at the owner's address
    std::array<char*, 2> at{};  // in the range of its own window, and of the one before
  };
  struct Range {
    char* base = nullptr;
    std::size_t mappings = 0;
  };
  std::vector<Mapping*> mappings(int peer, const BufferPlace& place);
  void import_row(int peer, const MemoryRow& row, Mapping& mapping);
  void map(int peer, std::uint64_t window, Mapping& mapping);
  Range& range(int peer, std::uint64_t window);
  void release(int peer, Mapping& mapping);

  SegmentMemory* const memory_;
  SharedBlock& shared_;
  const std::int32_t process_;
  std::array<std::map<std::uint32_t, Mapping>, kMostRanks> mappings_;  // by row
  std::map<std::pair<int, std::uint64_t>, Range> ranges_;              // by peer and window
};

}  // namespace duet::nccl_shim
