// Prints what device/hip takes from HIP's header: values, sizes and offsets. scripts/check_hip.sh
// compares what it prints with the stand-in's header and with AMD's.
#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdio>

#define SHOW(value) std::printf("%s %llu\n", #value, static_cast<unsigned long long>(value))
#define SHOW_PLACE(type, member) std::printf("%s.%s %zu\n", #type, #member, offsetof(type, member))

int main() {
  SHOW(hipErrorInvalidValue);
  SHOW(hipErrorMemoryAllocation);
  SHOW(hipErrorNoDevice);
  SHOW(hipErrorInvalidDevice);
  SHOW(hipErrorInvalidHandle);
  SHOW(hipErrorNotReady);
  SHOW(hipErrorPeerAccessAlreadyEnabled);
  SHOW(hipErrorStreamCaptureUnsupported);
  SHOW(hipErrorStreamCaptureInvalidated);
  SHOW(hipErrorStreamCaptureUnmatched);
  SHOW(hipErrorStreamCaptureUnjoined);
  SHOW(hipErrorStreamCaptureIsolation);
  SHOW(hipErrorCapturedEvent);
  SHOW(hipDeviceAttributeClockRate);
  SHOW(hipDeviceAttributeMemoryBusWidth);
  SHOW(hipDeviceAttributeMemoryClockRate);
  SHOW(hipDeviceAttributeMultiprocessorCount);
  SHOW(hipDeviceAttributeSharedMemPerBlockOptin);
  SHOW(hipMemoryTypeHost);
  SHOW(hipMemoryTypeDevice);
  SHOW(hipMemoryTypeManaged);
  SHOW(hipMemcpyDefault);
  SHOW(hipStreamCaptureModeRelaxed);
  SHOW(hipStreamCaptureStatusNone);
  SHOW(hipStreamCaptureStatusActive);
  SHOW(hipStreamCaptureStatusInvalidated);
  SHOW(hipHostMallocPortable);
  SHOW(hipHostMallocMapped);
  SHOW(hipMemAttachGlobal);
  SHOW(hipDeviceMallocUncached);
  SHOW(hipEventDefault);
  SHOW(hipEventDisableTiming);
  SHOW(hipEventReleaseToSystem);
  SHOW(hipStreamNonBlocking);
  SHOW(hipStreamWaitValueGte);
  SHOW(hipIpcMemLazyEnablePeerAccess);
  SHOW(sizeof(hipIpcMemHandle_t));
  SHOW(sizeof(hipPointerAttribute_t));
  SHOW_PLACE(hipPointerAttribute_t, type);
  SHOW_PLACE(hipPointerAttribute_t, device);
  SHOW(sizeof(hipDeviceProp_t));
  SHOW_PLACE(hipDeviceProp_t, totalGlobalMem);
  SHOW_PLACE(hipDeviceProp_t, warpSize);
  SHOW_PLACE(hipDeviceProp_t, maxThreadsPerBlock);
  SHOW_PLACE(hipDeviceProp_t, multiProcessorCount);
  SHOW_PLACE(hipDeviceProp_t, ECCEnabled);
  SHOW_PLACE(hipDeviceProp_t, l2CacheSize);
  SHOW_PLACE(hipDeviceProp_t, gcnArchName);
}
