#include "device/gpu/vendor.h"

#include <fmt/format.h>

#include "core/error.h"

namespace duet::DUET_GPU {

std::string place_in_source(const char* place) {
  const std::string text = place;
  const std::size_t root = text.rfind("src/");
  return root == std::string::npos ? text : text.substr(root + 4);
}

void throw_gpu_error(gpuError_t error, const char* call, const char* place) {
  forget(error);
  const std::string message = fmt::format("{}: {} ({}) at {}", call, gpuGetErrorString(error),
                                          gpuGetErrorName(error), place_in_source(place));
  if (error == gpuErrorMemoryAllocation) throw OutOfMemory(message);
  if (error == gpuErrorStreamCaptureUnsupported) throw Unavailable(message);
  throw Error(message);
}

void forget(gpuError_t error) noexcept {
  if (error != gpuSuccess) static_cast<void>(gpuGetLastError());
}

void use_device(int ordinal) { DUET_GPU_CHECK(gpuSetDevice(ordinal)); }

}  // namespace duet::DUET_GPU
