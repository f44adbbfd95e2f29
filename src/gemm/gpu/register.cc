#include "device/gpu/module.h"
#include "gemm/gpu/reference.h"
#ifdef DUET_GPU_HIP
#include "gemm/rocblas/engines.h"
#else
#include "gemm/cublas/engines.h"
#endif

namespace duet::DUET_GPU {

void register_gpu_gemm() {
  register_gemm_reference(DUET_GPU_NAME, reference_by_gpu);
#ifdef DUET_GPU_HIP
  register_rocblas_engine();
#else
  register_cublaslt_engines();
  register_cublas_engines();
#endif
}

}  // namespace duet::DUET_GPU
