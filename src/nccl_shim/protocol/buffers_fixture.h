// Buffers of calls, and what a user's kernels do with them, for tests.
#pragma once

#include <cstdint>
#include <vector>

#include "nccl_shim/protocol/call.h"
#include "nccl_shim/protocol/ranks_fixture.h"

namespace duet::nccl_shim::testing {

// The buffers of a rank's calls of one kind, `count` elements of int32 a part. Not `lendable`:
// memory that the device does not know.
class Buffers {
 public:
  Buffers(TestRank& rank, Kind kind, std::size_t count, bool lendable);
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  Call call(int root = 0) const { return {kind_, send_, receive_, count_ * 4, root, DType::int32}; }

  // Writes what call `number` sends, and something else into its receive buffer.
  void fill(int number) const;
  // How many received elements are not what call `number` leaves.
  std::size_t wrong(int number, int root = 0) const;

 private:
  std::size_t received_parts() const;
  std::uint32_t expected(int source, int number, std::size_t index) const;
  std::uint32_t* make(std::size_t count);

  TestRank& rank_;
  Kind kind_;
  std::size_t count_;
  bool lendable_;
  std::vector<std::vector<std::uint32_t>> own_;
  std::uint32_t* send_;
  std::uint32_t* receive_;
};

// Fills, calls and checks `calls` times, without a wait on the CPU.
std::size_t wrong_of_many(TestRank& rank, const Buffers& buffers, int calls);

}  // namespace duet::nccl_shim::testing
