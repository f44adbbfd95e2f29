// Called when the CUDA module is loaded.
#pragma once

namespace duet::cuda {

void register_cublas_engines();         // cublas, cublas-autotune
void register_cublas_grouped_engine();  // cublas-grouped

}  // namespace duet::cuda
