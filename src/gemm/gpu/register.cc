#include "device/gpu/module.h"
#include "gemm/gpu/reference.h"
#ifndef DUET_GPU_HIP
#include "gemm/cublas/engines.h"
#endif

namespace duet::DUET_GPU {

void register_gpu_gemm() {
  register_gemm_reference(DUET_GPU_NAME, reference_by_gpu);
#ifndef DUET_GPU_HIP
  register_cublaslt_engines();
  register_cublas_engines();
#endif
}

}  // namespace duet::DUET_GPU
