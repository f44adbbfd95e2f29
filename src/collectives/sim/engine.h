// The vendor's collective library as simulated machines have it: a model of its kernels.
#pragma once

#include <memory>

#include "collectives/engine.h"

namespace duet {

std::unique_ptr<CollectiveEngine> make_vendor_model_collectives();

}  // namespace duet
