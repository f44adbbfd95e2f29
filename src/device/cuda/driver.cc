// Memory operations of a stream, which only the driver has. Its functions are asked for at run
// time: a program linked with libcuda does not start where there is no driver.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <fmt/format.h>

#include "core/error.h"
#include "device/gpu/vendor_calls.h"

namespace duet::cuda {
namespace {

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

// The versions are those in the types' names.
struct Driver {
  PFN_cuStreamWriteValue64_v11070 write =
      entry_point<PFN_cuStreamWriteValue64_v11070>("cuStreamWriteValue64", 11070);
  PFN_cuStreamWaitValue64_v11070 wait =
      entry_point<PFN_cuStreamWaitValue64_v11070>("cuStreamWaitValue64", 11070);
  PFN_cuGetErrorString_v6000 error_string =
      entry_point<PFN_cuGetErrorString_v6000>("cuGetErrorString", 6000);
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

void check(CUresult result, const char* call, const char* place) {
  if (result == CUDA_SUCCESS) return;
  const char* words = nullptr;
  driver().error_string(result, &words);
  throw Error(fmt::format("{}: {} (CUresult {}) at {}", call,
                          words != nullptr ? words : "unknown error", static_cast<int>(result),
                          place_in_source(place)));
}

#define DUET_DRIVER_CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, DUET_GPU_PLACE(__LINE__))

CUdeviceptr address_of(void* word) { return reinterpret_cast<CUdeviceptr>(word); }

}  // namespace

// By default the write is fenced: what the stream did before is visible where the value is.
void stream_write(cudaStream_t stream, void* word, std::uint64_t value) {
  DUET_DRIVER_CHECK(driver().write(stream, address_of(word), value, CU_STREAM_WRITE_VALUE_DEFAULT));
}

void stream_wait(cudaStream_t stream, void* word, std::uint64_t value) {
  DUET_DRIVER_CHECK(driver().wait(stream, address_of(word), value, CU_STREAM_WAIT_VALUE_GEQ));
}

void stream_call(cudaStream_t stream, void (*function)(void*), void* data) {
  DUET_GPU_CHECK(cudaLaunchHostFunc(stream, function, data));
}

}  // namespace duet::cuda
