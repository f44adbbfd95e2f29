// What the parts of the stand-in for libcuda.so.1 share.
#pragma once

#include <cuda.h>

#include <vector>

#include "core/error.h"
#include "fake_gpu/cuda/host_gpu.h"

struct CUctx_st {
  int device;
};

namespace fake_cuda {

extern thread_local std::vector<CUcontext> pushed;

inline void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// Runs `call` if a context is current, and turns what it throws into a result.
template <typename Call>
CUresult in_context(const Call& call) {
  if (pushed.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (host_gpu_has_failed()) return CUDA_ERROR_ILLEGAL_ADDRESS;
  try {
    return call();
  } catch (const duet::Error&) {
    return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace fake_cuda
