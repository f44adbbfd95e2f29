// Duet's own collectives: by copy engines ("dma"; "sdma", those that Duet chooses on AMD GPUs), by
// kernels over mapped peers ("kernel"), and by what is faster at the size ("auto").
#pragma once

#include <memory>

#include "collectives/engine.h"

namespace duet {

enum class OwnEngineKind { dma, sdma, kernel, fastest };

std::unique_ptr<CollectiveEngine> make_dma_collectives();
// As dma, by copies of Executor::sdma: within one node, and not captured.
std::unique_ptr<CollectiveEngine> make_sdma_collectives();
std::unique_ptr<CollectiveEngine> make_kernel_collectives();
std::unique_ptr<CollectiveEngine> make_auto_collectives();

}  // namespace duet
