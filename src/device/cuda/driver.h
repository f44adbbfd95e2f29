// The driver's functions, looked up at run time: a program that is linked with libcuda does not
// start on a machine without the driver.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <fmt/format.h>

#include "core/error.h"
#include "device/gpu/vendor.h"

namespace duet::cuda {

// Looks up a driver function. `version` is the CUDA version in the name of the function's type.
// Throws Unavailable where the driver does not have the function.
template <typename Function>
Function entry_point(const char* name, unsigned version) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  DUET_GPU_CHECK(
      cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) {
    throw Unavailable(fmt::format("the NVIDIA driver has no {} of CUDA {}.{}", name, version / 1000,
                                  version % 1000 / 10));
  }
  return reinterpret_cast<Function>(address);
}

// The driver's text for an error.
const char* words_for(CUresult result);

// Throws Error, with the call's text and source location, unless `result` is success.
void check_driver(CUresult result, const char* call, const char* place);

}  // namespace duet::cuda

#define DUET_DRIVER_CHECK(...) \
  ::duet::cuda::check_driver((__VA_ARGS__), #__VA_ARGS__, DUET_GPU_PLACE(__LINE__))

// A member that is a driver function.
#define DUET_DRIVER_FUNCTION(member, name, version) \
  PFN_##name##_v##version member =                  \
      ::duet::cuda::entry_point<PFN_##name##_v##version>(#name, version)
