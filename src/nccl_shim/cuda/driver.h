// The NVIDIA driver's functions, as the program that the drop-in is in has loaded it.
#pragma once

#include <cuda.h>

namespace duet::nccl_shim::cuda {

// cuda.h defines most of these names as those of their newest versions, which are looked up.
#define DUET_SHIM_DRIVER_FUNCTIONS(X)       \
  X(cuCtxEnablePeerAccess)                  \
  X(cuCtxGetCurrent)                        \
  X(cuCtxGetDevice)                         \
  X(cuCtxGetStreamPriorityRange)            \
  X(cuCtxPopCurrent)                        \
  X(cuCtxPushCurrent)                       \
  X(cuDeviceGetName)                        \
  X(cuDeviceGetUuid)                        \
  X(cuDevicePrimaryCtxRetain)               \
  X(cuEventCreate)                          \
  X(cuEventDestroy)                         \
  X(cuEventQuery)                           \
  X(cuEventRecord)                          \
  X(cuGetErrorString)                       \
  X(cuGraphAddDependencies)                 \
  X(cuGraphAddEventRecordNode)              \
  X(cuIpcCloseMemHandle)                    \
  X(cuIpcGetMemHandle)                      \
  X(cuIpcOpenMemHandle)                     \
  X(cuLaunchKernel)                         \
  X(cuMemAddressFree)                       \
  X(cuMemAddressReserve)                    \
  X(cuMemAlloc)                             \
  X(cuMemCreate)                            \
  X(cuMemExportToShareableHandle)           \
  X(cuMemFree)                              \
  X(cuMemGetAccess)                         \
  X(cuMemGetAddressRange)                   \
  X(cuMemGetAllocationGranularity)          \
  X(cuMemGetAllocationPropertiesFromHandle) \
  X(cuMemHostGetDevicePointer)              \
  X(cuMemHostRegister)                      \
  X(cuMemHostUnregister)                    \
  X(cuMemImportFromShareableHandle)         \
  X(cuMemMap)                               \
  X(cuMemRelease)                           \
  X(cuMemRetainAllocationHandle)            \
  X(cuMemSetAccess)                         \
  X(cuMemUnmap)                             \
  X(cuMemcpyAsync)                          \
  X(cuMemsetD8Async)                        \
  X(cuModuleGetFunction)                    \
  X(cuModuleLoadData)                       \
  X(cuPointerGetAttribute)                  \
  X(cuStreamBatchMemOp)                     \
  X(cuStreamCreateWithPriority)             \
  X(cuStreamDestroy)                        \
  X(cuStreamGetCaptureInfo)                 \
  X(cuStreamSynchronize)                    \
  X(cuStreamWaitEvent)                      \
  X(cuThreadExchangeStreamCaptureMode)

struct Driver {
#define DUET_SHIM_DRIVER_MEMBER(name) decltype(&::name) name = nullptr;
  DUET_SHIM_DRIVER_FUNCTIONS(DUET_SHIM_DRIVER_MEMBER)
#undef DUET_SHIM_DRIVER_MEMBER
  // Since CUDA 12.0, or null.
  CUresult (*cuStreamGetId)(CUstream stream, unsigned long long* id) = nullptr;
};

// Throws Unavailable where the program has no driver, or one that lacks a function.
const Driver& driver();

// Throws Error (OutOfMemory where that is the reason) with the call's name and the driver's text,
// unless `result` is success.
void check(CUresult result, const char* call);

// While it lives, the context is current for this thread, and calls that may wait for the device do
// not end another thread's capture. Where the context cannot be entered any more, as at the end of
// the process, the calls themselves fail.
class Entered {
 public:
  explicit Entered(CUcontext context) noexcept;
  ~Entered();
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  bool pushed_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // the thread's own, when it ends
};

}  // namespace duet::nccl_shim::cuda
