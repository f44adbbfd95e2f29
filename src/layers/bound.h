// The least time that a layer's call can take, of which `duet layer` tells how far each way is
// away.
#pragma once

#include <optional>

#include "layers/operation.h"
#include "verdict/device_spec.h"

namespace duet {

// Bytes that each of `ranks` ranks sends in a call, and as many it receives.
double sent_bytes(const Layer& layer, int ranks);

// Seconds of a call whose multiplications alone take `gemm_seconds`, where all that ranks send
// moves meanwhile by copy engines: the longer of both, and what the GEMM loses because transfers
// draw power. At the power limit a clock that is a third root of the power (docs/simulation.md)
// falls by a third of the share that transfers take, so joules / (3 x watts) are added. nullopt
// where the spec has no links between devices. The ranks are devices of one node.
std::optional<double> bound_seconds(const Layer& layer, int ranks, double gemm_seconds,
                                    const DeviceSpec& spec);

}  // namespace duet
