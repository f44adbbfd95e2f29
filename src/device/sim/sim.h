// What other folders need of simulated machines beyond the device interface.
#pragma once

#include <memory>
#include <vector>

#include "device/collective_kernel.h"
#include "device/sim/platform.h"
#include "device/stream.h"

namespace duet {

class Device;

// Registers simulated machines as a kind of device: --device sim:NAME and sim:FILE.toml.
void register_sim_backend();

namespace sim {

// The figures of a simulated device; nullptr for any other device.
const DeviceModel* model_of(const Device& device);

// C (m, n) = A (m, k) x B.
struct GemmSize {
  double m = 0, n = 0, k = 0;
  DType dtype = DType::bf16;
  double memory_bytes = 0;  // of A, B and C, each moved once
  // Memory traffic as a multiple of memory_bytes, where a study shows it; 0: the model's.
  double traffic = 0;
};

// The demand of a GEMM by the device's GEMM library, which has one workgroup for each tile of C.
// Throws Unavailable if the model has no peak for the dtype.
Demand gemm_demand(const DeviceModel& model, const GemmSize& size);
// The demand of one kernel that computes several products of the same N, K and dtype: all have the
// same tiles, whose workgroups fill the device together. There is at least one product.
Demand grouped_gemm_demand(const DeviceModel& model, const std::vector<GemmSize>& products);

// The word on which the ranks of a library's kernel synchronise. It is 0 at first, and each rank
// adds 1 at each barrier.
struct BarrierCounter {
  std::shared_ptr<Buffer> count;
  int ranks = 1;
};

// The collective library of a simulated device's platform. Throws BadArgument for any other device.
const LibraryModel& library_of(Device& device);
// Prepares `kernel` with the costs of `library`, one of the kernels of the vendor's collective
// library. Its barriers use the counter instead of words at peers, which it must not have. Throws
// BadArgument for a device that is not simulated.
std::unique_ptr<PreparedKernel> prepare_as_library(Device& device, const PeerKernel& kernel,
                                                   const LibraryKernel& library,
                                                   NodeAlgorithm node_algorithm,
                                                   BarrierCounter counter);

}  // namespace sim
}  // namespace duet
