#pragma once

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::host {

// At once, on the calling thread.
void reduce_parts(const PartsToReduce& reduced);

}  // namespace duet::nccl_shim::host
