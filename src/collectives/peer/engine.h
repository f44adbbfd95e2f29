// Duet's own collectives: on the devices' copy engines, in a kernel over mapped peers, and the
// faster of both.
#pragma once

#include <memory>

#include "collectives/engine.h"

namespace duet {

std::unique_ptr<CollectiveEngine> make_dma_collectives();
std::unique_ptr<CollectiveEngine> make_kernel_collectives();
std::unique_ptr<CollectiveEngine> make_auto_collectives();

}  // namespace duet
