// What other folders need of simulated machines beyond the device interface.
#pragma once

#include <memory>

#include "device/collective_kernel.h"
#include "device/sim/platform.h"
#include "device/stream.h"

namespace duet {

class Device;

// Makes --device sim:NAME and sim:FILE.toml known.
void register_sim_backend();

namespace sim {

// The figures behind a simulated device; nullptr for any other.
const DeviceModel* model_of(const Device& device);

// C (m, n) = A (m, k) x B.
struct GemmSize {
  double m = 0, n = 0, k = 0;
  DType dtype = DType::bf16;
  double memory_bytes = 0;  // moved to and from device memory
};

// What the device's GEMM library demands of it: a workgroup a tile of C, at the platform's
// efficiency. The dtype must have a peak in the model; throws Unavailable otherwise.
Demand gemm_demand(const DeviceModel& model, const GemmSize& size);

// How the ranks of a library's kernel synchronise: each counts itself on one word, 0 at first.
struct BarrierCounter {
  std::shared_ptr<Buffer> count;
  int ranks = 1;
};

// Of a simulated device's platform; both throw BadArgument for any other device. The kernel has no
// peers' words of its own; it costs what it does in that kernel of the vendor's collective library.
const LibraryModel& library_of(Device& device);
std::unique_ptr<PreparedKernel> prepare_as_library(Device& device, const PeerKernel& kernel,
                                                   const LibraryKernel& library,
                                                   NodeAlgorithm node_algorithm,
                                                   BarrierCounter counter);

}  // namespace sim
}  // namespace duet
