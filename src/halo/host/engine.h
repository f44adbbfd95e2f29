#pragma once

#include <memory>

#include "halo/engine.h"

namespace duet {

// The engine `host`, for the devices of a CPU in one process: the simplest correct exchange, used
// as the reference for other engines.
std::unique_ptr<HaloEngine> make_host_halo();

}  // namespace duet
