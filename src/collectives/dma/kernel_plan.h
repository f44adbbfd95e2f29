// A collective in one launch of the compute units over mapped peers: what small sizes want.
#pragma once

#include <memory>

#include "collectives/dma/watchdog.h"
#include "collectives/engine.h"
#include "device/exchange.h"
#include "team/peer_memory.h"

namespace duet {

class KernelPlan : public CollectivePlan, private Waiting {
 public:
  // Inside Team::each(), by every rank.
  KernelPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
             Watchdog& watchdog);
  ~KernelPlan() override;

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;
  double wire_bytes() const override { return wire_bytes_; }

 private:
  void release_waits() noexcept override;

  Device& device_;
  Watchdog& watchdog_;
  int blocks_;
  Buffer own_words_;
  PeerMemory words_, send_, recv_;
  std::unique_ptr<PreparedExchange> exchange_;
  double wire_bytes_ = 0;
};

}  // namespace duet
