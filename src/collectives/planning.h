// What engines ask of a plan's buffers.
#pragma once

#include "collectives/engine.h"

namespace duet {

// Does one buffer lie in the other?
bool in_place(const CollectiveBuffers& buffers);

}  // namespace duet
