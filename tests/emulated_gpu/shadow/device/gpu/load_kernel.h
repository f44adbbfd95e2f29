// Stands before the file of the same name: kernels of a CPU are loaded.
#pragma once

namespace duet::DUET_GPU {

template <typename Kernel>
void load_kernel(Kernel) {}

}  // namespace duet::DUET_GPU
