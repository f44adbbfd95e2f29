#pragma once

#include <memory>

#include "collectives/engine.h"
#include "collectives/nccl/library.h"
#include "collectives/nccl/mode.h"

namespace duet::nccl {

// The collective engine for one mode of NCCL. The library must outlive the engine.
std::unique_ptr<CollectiveEngine> make_engine(const Library& library, const Mode& mode);

// NCCL as a program gets it behind Duet's drop-in, whose file this opens with the first session:
// the engine "nccl-duet", or "nccl-duet-kernel" by the drop-in's kernel alone, which does not make
// all collectives. The library must outlive the engine.
std::unique_ptr<CollectiveEngine> make_drop_in_engine(const Library& library, DropInMeans means);

}  // namespace duet::nccl
