#include "nccl_shim/cuda/driver.h"

#include <dlfcn.h>

#include <string>

#include "core/error.h"

namespace duet::nccl_shim::cuda {
namespace {

template <typename Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw Unavailable(std::string("the NVIDIA driver has no ") + name);
}

Driver load() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) throw Unavailable("the program has not loaded an NVIDIA driver");
  Driver driver;
#define DUET_SHIM_TEXT(name) #name
#define DUET_SHIM_LOOK_UP(name) look_up(library, DUET_SHIM_TEXT(name), driver.name);
  DUET_SHIM_DRIVER_FUNCTIONS(DUET_SHIM_LOOK_UP)
#undef DUET_SHIM_LOOK_UP
#undef DUET_SHIM_TEXT
  driver.cuStreamGetId =
      reinterpret_cast<decltype(driver.cuStreamGetId)>(dlsym(library, "cuStreamGetId"));
  return driver;
}

}  // namespace

const Driver& driver() {
  static const Driver loaded = load();
  return loaded;
}

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  driver().cuGetErrorString(result, &text);
  const std::string what = std::string(call) + ": " + (text == nullptr ? "unknown error" : text);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw OutOfMemory(what);
  throw Error(what);
}

Entered::Entered(CUcontext context) noexcept
    : pushed_(driver().cuCtxPushCurrent(context) == CUDA_SUCCESS) {
  driver().cuThreadExchangeStreamCaptureMode(&mode_);
}

Entered::~Entered() {
  driver().cuThreadExchangeStreamCaptureMode(&mode_);
  CUcontext left = nullptr;
  if (pushed_) driver().cuCtxPopCurrent(&left);
}

}  // namespace duet::nccl_shim::cuda
