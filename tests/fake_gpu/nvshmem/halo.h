#pragma once

#include "fake_gpu/nvshmem/fake.h"
#include "halo/nvshmem/calls.h"

namespace duet::nvshmem {

// The fake (fake.h) with the calls of the halo exchange.
const HaloCalls& fake_halo_calls(FakeFault fault = FakeFault::none);

}  // namespace duet::nvshmem
