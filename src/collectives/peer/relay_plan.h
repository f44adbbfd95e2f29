// A large broadcast by kernels behind a switch: piece by piece from rank to rank, each block of a
// kernel handing its slices on to the same block of the next rank's.
#pragma once

#include "collectives/engine.h"
#include "collectives/peer/semaphores.h"
#include "device/collective_kernel.h"
#include "team/peer_memory.h"

namespace duet {

class RelayPlan : public CollectivePlan {
 public:
  // Inside Team::each(), by every rank of at least 2; the pieces are all of the buffer.
  RelayPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
            Watchdog& watchdog, std::uint64_t piece_bytes);
  ~RelayPlan() override;

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;
  double wire_bytes() const override { return wire_bytes_; }

  // By which a broadcast of so many bytes to so many others takes the least time.
  static std::uint64_t best_piece(std::uint64_t bytes, int others);

 private:
  void pass_on(const Span& source, const CollectiveBuffers& buffers, LocalKernel& kernel);
  void take_last(LocalKernel& kernel) const;
  // Flags of a rank, each a word for each block.
  Semaphore arrived(int owner, std::uint64_t piece) const;
  Semaphore ready(int owner) const;

  Watchdog& watchdog_;
  PeerMemory recv_;
  const std::uint64_t bytes_, piece_bytes_, pieces_;
  int place_;                // in the order of ranks from the root on
  int own_, before_, next_;  // ranks
  const int blocks_;
  Semaphores words_;
  std::unique_ptr<PreparedKernel> prepared_;
  double wire_bytes_ = 0;
};

}  // namespace duet
