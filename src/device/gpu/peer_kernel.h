#pragma once

#include <variant>
#include <vector>

#include "device/gpu/collective_kernel.h"
#include "device/gpu/peer_kernel_table.h"

namespace duet::DUET_GPU {

// A peer kernel. Its table is a kernel parameter; with many peers the lists are in device memory.
class GpuPeerKernel : public GpuKernel {
 public:
  // prepare_kernel() has already checked the arguments. The kernel has at least one peer.
  GpuPeerKernel(GpuDevice& device, const PeerKernel& kernel);

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

  Lists lists_of(const PeerKernel& kernel) const;
  void add_moves(const KernelItem& item, Lists& to) const;
  void add_reduction(const KernelItem& item, Lists& to) const;
  gpu::PeerKernelHead head_of(const PeerKernel& kernel, const Lists& lists);
  gpu::ManyPeersTable upload(const gpu::PeerKernelHead& head, const Lists& lists);
  bool is_elsewhere(const Span& span) const;

  DType dtype_;
  Reduction op_;
  int blocks_;
  Buffer calls_, lists_;
  std::variant<gpu::FewPeersTable, gpu::ManyPeersTable> table_;
};

}  // namespace duet::DUET_GPU
