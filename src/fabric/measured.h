// One case of the fabric, measured.
#pragma once

#include <functional>

#include "device/device.h"
#include "fabric/session.h"
#include "fabric/trial.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

// Samples, costs, latencies and notes, into `result`. All processes call it together; afterwards
// the session is open, and the device's memory free. Throws what FabricTrial does.
void measure_fabric(FabricSession& session, const FabricTask& task, Device& device,
                    const Mode& mode, const std::function<bool()>& stop, Measurement& result);

}  // namespace duet
