// Duet's own collectives: by copy engines ("dma"), by kernels over mapped peers ("kernel"), and by
// what is faster at the size ("auto").
#pragma once

#include <memory>

#include "collectives/engine.h"

namespace duet {

enum class PeerEngineKind { dma, kernel, fastest };

std::unique_ptr<CollectiveEngine> make_dma_collectives();
std::unique_ptr<CollectiveEngine> make_kernel_collectives();
std::unique_ptr<CollectiveEngine> make_auto_collectives();

}  // namespace duet
