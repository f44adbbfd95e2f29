#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "device/collective_kernel.h"
#include "device/gpu/device.h"
#include "device/gpu/local_kernel_table.h"
#include "device/gpu/packet_table.h"
#include "device/gpu/peer_kernel_table.h"

namespace duet::DUET_GPU {

// The base class of local, peer, packet and norm kernels.
class GpuKernel : public PreparedKernel {
 public:
  const GpuDevice& device() const { return device_; }
  virtual void launch(gpuStream_t stream) const = 0;

 protected:
  explicit GpuKernel(GpuDevice& device) : device_(device) {}

  GpuDevice& device_;
};

// Implements Device::prepare().
std::unique_ptr<GpuKernel> prepare_kernel(GpuDevice& device, const CollectiveKernel& kernel);

inline std::uintptr_t address(const Span& span) {
  return reinterpret_cast<std::uintptr_t>(span.data);
}

// The widest word, in bytes (16, 4 or 1), to which all addresses of the item can be aligned at the
// same offset. The kernel moves a head and a tail that are shorter than a vector by narrower words.
std::uint32_t common_width(const KernelItem& item);

// The length of the first block's slice of the item, in vectors of 16 bytes.
std::uint32_t first_share(const KernelItem& item, int blocks);

// A local kernel. Its table is in device memory.
class GpuLocalKernel : public GpuKernel {
 public:
  // prepare_kernel() has already checked the arguments.
  GpuLocalKernel(GpuDevice& device, const LocalKernel& kernel);

  void launch(gpuStream_t stream) const override;

 private:
  DType dtype_;
  Reduction op_;
  int blocks_ = 0;
  bool adds_in_flight_ = false;
  Buffer memory_;  // everything that the table points to
  gpu::LocalKernelTable table_;
};

// A packet kernel. Its table is a kernel parameter.
class GpuPacketKernel : public GpuKernel {
 public:
  // prepare_kernel() has already checked the arguments.
  GpuPacketKernel(GpuDevice& device, const PacketKernel& kernel);

  void launch(gpuStream_t stream) const override;
  bool can_shift() const override { return true; }
  void shift(const KernelShift& by) override;

 private:
  gpu::PacketUse use_;
  Buffer last_;
  gpu::PacketKernelTable prepared_{}, table_{};
};

// A norm kernel. Its table is a kernel parameter.
class GpuNormKernel : public GpuKernel {
 public:
  // prepare_kernel() has already checked the arguments.
  GpuNormKernel(GpuDevice& device, const NormKernel& kernel);

  void launch(gpuStream_t stream) const override;

 private:
  DType dtype_;
  gpu::NormTable table_{};
};

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
