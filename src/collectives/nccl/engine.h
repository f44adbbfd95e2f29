#pragma once

#include <memory>

#include "collectives/engine.h"
#include "collectives/nccl/library.h"
#include "collectives/nccl/mode.h"

namespace duet::nccl {

// The collective engine for one mode of NCCL. The library must outlive the engine.
std::unique_ptr<CollectiveEngine> make_engine(const Library& library, const Mode& mode);

// The engine "nccl-duet": NCCL as a program gets it behind Duet's drop-in, whose file this opens
// with the first session. The library must outlive the engine.
std::unique_ptr<CollectiveEngine> make_drop_in_engine(const Library& library);

}  // namespace duet::nccl
