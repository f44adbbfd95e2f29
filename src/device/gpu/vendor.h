// The vendor this copy of device/gpu is compiled for: its names, and the checking macro. The
// folder is compiled once per vendor, into duet::cuda or duet::hip.
#pragma once

#include <string>

#ifdef DUET_GPU_HIP
#include "device/hip/vendor.h"
#else
#include "device/cuda/vendor.h"
#endif

namespace duet::DUET_GPU {

// Throws OutOfMemory, Unavailable (of what cannot be captured) or Error with the call's text and
// place, and clears the runtime's error, so that the next call does not report this one.
[[noreturn]] void throw_gpu_error(gpuError_t error, const char* call, const char* place);

// "/any/where/src/device/x.cc:7" as "device/x.cc:7".
std::string place_in_source(const char* place);

// Clears the runtime's error: for destructors, where an error has nowhere to go.
void forget(gpuError_t error) noexcept;

// Makes the device current for the calling thread: ranks are threads, and each keeps its own.
void use_device(int ordinal);

}  // namespace duet::DUET_GPU

#define DUET_GPU_TEXT(...) #__VA_ARGS__
#define DUET_GPU_PLACE_(file, line) file ":" DUET_GPU_TEXT(line)
#define DUET_GPU_PLACE(line) DUET_GPU_PLACE_(__FILE__, line)

// The text is taken after expansion, so that messages carry the vendor's own names.
#define DUET_GPU_CHECK(...)                                                          \
  do {                                                                               \
    const gpuError_t duet_gpu_result = (__VA_ARGS__);                                \
    if (duet_gpu_result != gpuSuccess) {                                             \
      ::duet::DUET_GPU::throw_gpu_error(duet_gpu_result, DUET_GPU_TEXT(__VA_ARGS__), \
                                        DUET_GPU_PLACE(__LINE__));                   \
    }                                                                                \
  } while (false)
