#pragma once

#include <memory>

#include "device/gpu/vendor.h"
#include "training/operations/operations.h"

namespace duet::DUET_GPU {

// The operations on a GPU, in fp32 or bf16. `most_shared`: bytes of shared memory that a block may
// have.
std::unique_ptr<Operations> make_gpu_operations(Device& device, const OperationsOptions& options,
                                                std::uint64_t most_shared);

}  // namespace duet::DUET_GPU
