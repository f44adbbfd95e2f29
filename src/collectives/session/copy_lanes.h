#pragma once

#include "device/stream.h"

namespace duet {

// The number of lanes that copy, whether their copies start in a fixed order, and the executor of
// copies between devices: dma or sdma.
struct CopyLanes {
  int count = 1;
  bool in_order = false;
  Executor executor = Executor::dma;
};

}  // namespace duet
