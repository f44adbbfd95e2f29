// An exchange with peers: its table in the kernel's parameters, or in memory where they are many.
#pragma once

#include <variant>
#include <vector>

#include "device/gpu/exchange.h"
#include "device/gpu/peer_exchange_table.h"

namespace duet::DUET_GPU {

class PeerExchange : public GpuExchange {
 public:
  // The exchange is checked already.
  PeerExchange(GpuDevice& device, const Exchange& exchange);

  void launch(gpuStream_t stream) const override;

 private:
  using Move = gpu::PeerMove<std::uint32_t>;
  using Reducing = gpu::PeerReduction<std::uint32_t>;
  struct Lists {
    std::vector<unsigned char*> addresses;
    std::vector<Move> moves;
    std::vector<Reducing> reductions;
    std::vector<std::uint64_t*> arrivals, awaits;
  };

  Lists lists_of(const Exchange& exchange) const;
  void add_moves(const ExchangeItem& item, Lists& to) const;
  void add_reduction(const ExchangeItem& item, Lists& to) const;
  gpu::PeerExchangeHead head_of(const Exchange& exchange, const Lists& lists);
  gpu::ManyPeersTable upload(const gpu::PeerExchangeHead& head, const Lists& lists);
  bool is_elsewhere(const Span& span) const;

  DType dtype_;
  Reduction op_;
  int blocks_;
  Buffer calls_, lists_;
  std::variant<gpu::FewPeersTable, gpu::ManyPeersTable> table_;
};

}  // namespace duet::DUET_GPU
