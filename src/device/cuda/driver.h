// The driver's functions, asked for at run time: a program linked with libcuda does not start where
// there is no driver.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <fmt/format.h>

#include "core/error.h"
#include "device/gpu/vendor.h"

namespace duet::cuda {

// The version is the one in the name of the function's type. Throws Unavailable.
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

// The driver's own words for an error.
const char* words_for(CUresult result);

// Throws Error with the call's text and place.
void check_driver(CUresult result, const char* call, const char* place);

}  // namespace duet::cuda

#define DUET_DRIVER_CHECK(...) \
  ::duet::cuda::check_driver((__VA_ARGS__), #__VA_ARGS__, DUET_GPU_PLACE(__LINE__))
