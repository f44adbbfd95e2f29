// The vendor for which this copy of device/gpu is compiled: its names and the checking macro. The
// folder is compiled once per vendor, into duet::cuda or duet::hip.
#pragma once

#include <string>

#ifdef DUET_GPU_HIP
#include "device/hip/vendor.h"
#else
#include "device/cuda/vendor.h"
#endif

namespace duet::DUET_GPU {

using gpuError_t = GPU(Error_t);
using gpuEvent_t = GPU(Event_t);
using gpuGraph_t = GPU(Graph_t);
using gpuGraphExec_t = GPU(GraphExec_t);
using gpuStream_t = GPU(Stream_t);

// Throws OutOfMemory, Unavailable (for calls that cannot be captured) or Error, with the call's
// text and source location. Clears the runtime's error, so that the next call does not report it
// again.
[[noreturn]] void throw_gpu_error(gpuError_t error, const char* call, const char* place);

// Shortens a source location: "/any/where/src/device/x.cc:7" becomes "device/x.cc:7".
std::string place_in_source(const char* place);

// Clears the runtime's error. For destructors, which cannot report an error.
void forget(gpuError_t error) noexcept;

// Makes the device current for the calling thread. Ranks are threads, and each has its own current
// device.
void use_device(int ordinal);

}  // namespace duet::DUET_GPU

#define DUET_GPU_TEXT(...) #__VA_ARGS__
#define DUET_GPU_PLACE_(file, line) file ":" DUET_GPU_TEXT(line)
#define DUET_GPU_PLACE(line) DUET_GPU_PLACE_(__FILE__, line)

// The call's text is taken after macro expansion, so that messages have the vendor's names.
#define DUET_GPU_CHECK(...)                                                          \
  do {                                                                               \
    const gpuError_t duet_gpu_result = (__VA_ARGS__);                                \
    if (duet_gpu_result != GPU(Success)) {                                           \
      ::duet::DUET_GPU::throw_gpu_error(duet_gpu_result, DUET_GPU_TEXT(__VA_ARGS__), \
                                        DUET_GPU_PLACE(__LINE__));                   \
    }                                                                                \
  } while (false)
