#pragma once

#include "collectives/nvshmem/fake.h"
#include "halo/nvshmem/calls.h"

namespace duet::nvshmem {

// The fake of collectives/nvshmem with the calls of the halo exchange.
const HaloCalls& fake_halo_calls(FakeFault fault = FakeFault::none);

}  // namespace duet::nvshmem
