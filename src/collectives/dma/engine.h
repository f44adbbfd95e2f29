// Duet's own collectives, on the devices' copy engines.
#pragma once

#include <memory>

#include "collectives/engine.h"

namespace duet {

std::unique_ptr<CollectiveEngine> make_dma_collectives();

}  // namespace duet
