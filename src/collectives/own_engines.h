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

// The engine `host`, for the devices of a CPU: the simplest correct implementation, used as the
// reference for other engines. It is not meant to be fast.
std::unique_ptr<CollectiveEngine> make_host_collectives();

// An engine for simulated machines: a model of the vendor's collective library and its kernels.
std::unique_ptr<CollectiveEngine> make_vendor_model_collectives();

}  // namespace duet
