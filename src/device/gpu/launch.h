#pragma once

#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include "device/gpu/vendor.h"
#include "device/stream.h"

namespace duet::DUET_GPU {

struct LaunchShape {
  dim3 grid;
  unsigned threads;  // of a block
  std::size_t shared_bytes = 0;
};

// Starts a kernel on a stream of the current device. Kernels that tests run on a CPU
// (tests/emulated_gpu) start here.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, Stream& stream,
            Arguments... arguments) {
  constexpr std::size_t kSharedWithoutAsking = 47 << 10;  // 48 KiB, less what kernels have besides
  if (shape.shared_bytes > kSharedWithoutAsking) {
    DUET_GPU_CHECK(GPU(FuncSetAttribute)(reinterpret_cast<const void*>(kernel),
                                         GPU(FuncAttributeMaxDynamicSharedMemorySize),
                                         static_cast<int>(shape.shared_bytes)));
  }
  kernel<<<shape.grid, shape.threads, shape.shared_bytes,
           static_cast<gpuStream_t>(stream.native())>>>(static_cast<Parameters>(arguments)...);
  DUET_GPU_CHECK(GPU(GetLastError)());
}

// The shared memory that a launch has asked for.
template <typename T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char memory[];
  return reinterpret_cast<T*>(memory);
}

}  // namespace duet::DUET_GPU
