// A large broadcast by kernels behind a switch: pieces go from rank to rank, and each block of a
// kernel passes its slices on to the same block of the next rank's kernel.
#pragma once

#include "collectives/peer/peer_channels.h"
#include "collectives/peer/peer_plan.h"
#include "device/collective_kernel.h"
#include "team/peer_memory.h"

namespace duet {

class RelayPlan : public PeerPlan {
 public:
  // Collective: every rank, of at least 2, constructs it inside Team::each() with the same
  // piece_bytes.
  RelayPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
            Watchdog& watchdog, std::uint64_t piece_bytes);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

  // The piece size with which a broadcast of `bytes` to `others` ranks takes the least time.
  static std::uint64_t best_piece(std::uint64_t bytes, int others);

 private:
  void pass_on(const Span& source, const CollectiveBuffers& buffers, LocalKernel& kernel);
  void take_last(LocalKernel& kernel) const;
  // Semaphores at a rank, with a word for each block.
  Semaphore arrived(int owner, std::uint64_t piece) const;
  Semaphore ready(int owner) const;

  PeerMemory recv_;
  const std::uint64_t bytes_, piece_bytes_, pieces_;
  int position_;             // in the order of ranks from the root on
  int own_, before_, next_;  // ranks
  const int blocks_;
  PeerSemaphores words_;
  std::unique_ptr<PreparedKernel> prepared_;
  Watched watched_;
};

}  // namespace duet
