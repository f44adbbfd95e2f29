// The engine `host`: collectives on the CPU's devices, in the plainest way that is right. The
// reference that others are held against; not meant to be fast.
#pragma once

#include <memory>

#include "collectives/engine.h"

namespace duet {

std::unique_ptr<CollectiveEngine> make_host_collectives();

}  // namespace duet
