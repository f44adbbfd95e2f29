#pragma once

#include <memory>

#include "collectives/engine.h"

namespace duet {

// An engine for simulated machines: a model of the vendor's collective library and its kernels.
std::unique_ptr<CollectiveEngine> make_vendor_model_collectives();

}  // namespace duet
