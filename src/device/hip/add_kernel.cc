#include "core/error.h"
#include "device/gpu/vendor_calls.h"

namespace duet::hip {

// AMD's instructions that add to memory work on one word each; a copy does not add.
bool load_add_kernels(const hipDeviceProp_t&) { return false; }

void launch_add_kernel(const gpu::LocalKernelTable&, DType, int, hipStream_t) {
  throw Unavailable("kernel: AMD GPUs do not add in flight");
}

}  // namespace duet::hip
