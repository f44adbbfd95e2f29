#include "gemm/gpu/register.h"

#include "gemm/gpu/reference.h"
#include "gemm/lt/engines.h"
#ifdef DUET_GPU_HIP
#include "gemm/rocblas/engines.h"
#else
#include "gemm/cublas/engines.h"
#endif

namespace duet::DUET_GPU {

void register_gemm() {
  register_gemm_reference(DUET_GPU_NAME, reference_by_gpu);
  register_lt_engines();
#ifdef DUET_GPU_HIP
  register_rocblas_engine();
#else
  register_cublas_engines();
  register_cublas_grouped_engine();
#endif
}

}  // namespace duet::DUET_GPU
