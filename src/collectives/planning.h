#pragma once

#include "collectives/engine.h"

namespace duet {

// Whether the send and the receive buffer overlap.
bool in_place(const CollectiveBuffers& buffers);

}  // namespace duet
