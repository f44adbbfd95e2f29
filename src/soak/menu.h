#pragma once

#include "device/machine.h"
#include "overlap/engines.h"
#include "soak/plan.h"

namespace duet {

// What rounds on the machine draw from. Opens the engines of its collectives. Throws Unavailable
// where its engine for GEMMs multiplies none of a soak's types.
SoakMenu soak_menu(Machine& machine, OverlapEngines& engines);

}  // namespace duet
