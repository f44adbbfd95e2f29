#pragma once

#include <functional>

#include "device/device.h"
#include "fabric/session.h"
#include "fabric/trial.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

// Collective: measures one case; adds samples, cost, latencies and notes to `result`. Afterwards
// the session is open, and the device's memory is freed. Throws as FabricTrial does.
void measure_fabric(FabricSession& session, const FabricTask& task, Device& device,
                    const Mode& mode, const std::function<bool()>& stop, Measurement& result);

}  // namespace duet
