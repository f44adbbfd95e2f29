// An exchange with peers: its table in the kernel's parameters.
#pragma once

#include "device/gpu/exchange.h"
#include "device/gpu/peer_exchange_table.h"

namespace duet::DUET_GPU {

class PeerExchange : public GpuExchange {
 public:
  // The exchange is checked already.
  PeerExchange(GpuDevice& device, const Exchange& exchange);

  void launch(gpuStream_t stream) const override;

 private:
  void add_moves(const ExchangeItem& item);
  void add_reduction(const ExchangeItem& item);
  std::uint8_t add_address(const Span& span);
  bool is_elsewhere(const Span& span) const;

  DType dtype_;
  Reduction op_;
  int blocks_;
  int addresses_ = 0;
  Buffer calls_;
  gpu::PeerExchangeTable table_;
};

}  // namespace duet::DUET_GPU
