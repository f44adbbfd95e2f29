#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "nccl_shim/protocol/device.h"
#include "nccl_shim/protocol/peer_process.h"
#include "nccl_shim/protocol/shared_memory.h"

namespace duet::nccl_shim {

// This rank of a communicator: what all classes of its side (PairCopies) have in common. Each is
// made of a copy.
class OwnRank {
 public:
  using Stream = ShimDevice::Stream;

  // All ranks have announced themselves in `shared`.
  OwnRank(ShimDevice& device, SharedBlock& shared, int rank, int ranks)
      : device_(device), shared_(shared), rank_(rank), ranks_(ranks) {
    for (int peer = 0; peer < ranks; ++peer) {
      const std::int32_t process = shared.ranks[peer].process;
      if (process == shared.ranks[rank].process) continue;
      (*processes_)[peer] = std::make_unique<PeerProcess>(process);
    }
  }

 protected:
  // Null: this process.
  const PeerProcess* process(int peer) const { return (*processes_)[peer].get(); }
  PairWords& words(int from, int to) const { return shared_.words.pairs[from][to]; }
  Word& gate(int rank) const { return shared_.words.gates[rank].word; }

  ShimDevice& device_;
  SharedBlock& shared_;
  const int rank_, ranks_;

 private:
  using Processes = std::array<std::unique_ptr<PeerProcess>, kMostRanks>;

  std::shared_ptr<Processes> processes_ = std::make_shared<Processes>();
};

}  // namespace duet::nccl_shim
