// When parts of a reduction are added where they arrive: schedule/algorithms/additions.cc.
#pragma once

#include "collectives/engine.h"

namespace duet {

// How `dma` reduces, as DUET_REDUCTIONS says.
enum class Reductions {
  automatic,  // in flight where it was measured to be the faster way, else through slots
  slots,
  in_flight,  // wherever devices and buffers allow it
};

// Throws UsageError for a value that is none of auto, the default, slots and in-flight.
Reductions chosen_reductions();

// Whether this rank's device and buffers allow it, and the result is as exact as that of adding up
// in fp32: sums of int32 and fp32, and of other types by two ranks, where one rounding is left.
bool can_add(const Rank& rank, const Collective& collective, const CollectiveBuffers& buffers);

}  // namespace duet
