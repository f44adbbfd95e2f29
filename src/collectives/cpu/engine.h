#pragma once

#include <memory>

#include "collectives/engine.h"

namespace duet {

// The engine `host`, for the devices of a CPU: the simplest correct implementation, used as the
// reference for other engines. It is not meant to be fast.
std::unique_ptr<CollectiveEngine> make_host_collectives();

}  // namespace duet
