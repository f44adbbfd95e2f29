// The part of HIP's interface that device/gpu and device/hip use, with the binary interface of
// HIP 6.4: their sources compile against this header where no ROCm is installed, and run on the
// stand-in for libamdhip64 in this folder. scripts/check_hip.sh compares it with AMD's header.
#pragma once

#include <cstddef>
#include <cstdint>

#define HIP_VERSION_MAJOR 6

// Results.
enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorMemoryAllocation = 2,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorInvalidContext = 201,
  hipErrorMapFailed = 205,
  hipErrorPeerAccessUnsupported = 217,
  hipErrorInvalidHandle = 400,
  hipErrorNotReady = 600,
  hipErrorLaunchTimeOut = 702,
  hipErrorPeerAccessAlreadyEnabled = 704,
  hipErrorNotSupported = 801,
  hipErrorStreamCaptureUnsupported = 900,
  hipErrorStreamCaptureInvalidated = 901,
  hipErrorStreamCaptureUnmatched = 903,
  hipErrorStreamCaptureUnjoined = 904,
  hipErrorStreamCaptureIsolation = 905,
  hipErrorCapturedEvent = 907,
};

// Values of enumerations and flags.
enum hipDeviceAttribute_t {
  hipDeviceAttributeClockRate = 5,
  hipDeviceAttributeMemoryBusWidth = 59,
  hipDeviceAttributeMemoryClockRate = 60,
  hipDeviceAttributeMultiprocessorCount = 63,
  hipDeviceAttributeSharedMemPerBlockOptin = 75,
};
enum hipMemoryType {
  hipMemoryTypeUnregistered = 0,
  hipMemoryTypeHost = 1,
  hipMemoryTypeDevice = 2,
  hipMemoryTypeManaged = 3,
};
enum hipMemcpyKind { hipMemcpyDefault = 4 };
enum hipStreamCaptureMode { hipStreamCaptureModeRelaxed = 2 };
enum hipStreamCaptureStatus {
  hipStreamCaptureStatusNone = 0,
  hipStreamCaptureStatusActive = 1,
  hipStreamCaptureStatusInvalidated = 2,
};
inline constexpr unsigned hipHostMallocPortable = 1, hipHostMallocMapped = 2;
inline constexpr unsigned hipMemAttachGlobal = 1;
inline constexpr unsigned hipDeviceMallocUncached = 3;
inline constexpr unsigned hipEventDefault = 0, hipEventDisableTiming = 2;
inline constexpr unsigned hipEventReleaseToSystem = 0x80000000;
inline constexpr unsigned hipStreamNonBlocking = 1;
inline constexpr unsigned hipStreamWaitValueGte = 0;
inline constexpr unsigned hipIpcMemLazyEnablePeerAccess = 1;

// Handles.
using hipStream_t = struct ihipStream_t*;
using hipEvent_t = struct ihipEvent_t*;
using hipGraph_t = struct ihipGraph*;
using hipGraphExec_t = struct hipGraphExec*;
using hipGraphNode_t = struct hipGraphNode*;
using hipDeviceptr_t = void*;
struct hipIpcMemHandle_t {
  char reserved[64];
};

struct hipPointerAttribute_t {
  hipMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

// Members that Duet does not read are left out, at their places.
struct hipDeviceProp_tR0600 {
  char name[256];
  char unused_1[32];
  std::size_t totalGlobalMem;
  char unused_2[12];
  int warpSize;
  char unused_3[8];
  int maxThreadsPerBlock;
  char unused_4[64];
  int multiProcessorCount;
  char unused_5[188];
  int ECCEnabled;
  char unused_6[32];
  int l2CacheSize;
  char unused_7[540];
  char gcnArchName[256];
  char unused_8[56];
};
#define hipDeviceProp_t hipDeviceProp_tR0600
#define hipGetDeviceProperties hipGetDevicePropertiesR0600

using hipStreamCallback_t = void (*)(hipStream_t stream, hipError_t status, void* data);

extern "C" {
const char* hipGetErrorName(hipError_t error);
const char* hipGetErrorString(hipError_t error);
hipError_t hipGetLastError();

hipError_t hipDriverGetVersion(int* version);
hipError_t hipRuntimeGetVersion(int* version);
hipError_t hipGetDeviceCount(int* count);
hipError_t hipSetDevice(int device);
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int device);
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
hipError_t hipDeviceGetPCIBusId(char* text, int length, int device);
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest);
hipError_t hipDeviceSynchronize();
hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer);
hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags);
hipError_t hipExtGetLinkTypeAndHopCount(int from, int to, std::uint32_t* type, std::uint32_t* hops);

hipError_t hipMalloc(void** data, std::size_t bytes);
hipError_t hipExtMallocWithFlags(void** data, std::size_t bytes, unsigned flags);
hipError_t hipMallocManaged(void** data, std::size_t bytes, unsigned flags);
hipError_t hipHostMalloc(void** data, std::size_t bytes, unsigned flags);
hipError_t hipFree(void* data);
hipError_t hipHostFree(void* data);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* data);
hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* bytes, hipDeviceptr_t data);
hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* data);
hipError_t hipIpcOpenMemHandle(void** data, hipIpcMemHandle_t handle, unsigned flags);
hipError_t hipIpcCloseMemHandle(void* data);

hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream);
hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                              std::size_t bytes, hipStream_t stream);
hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t stream);

hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority);
hipError_t hipExtStreamCreateWithCUMask(hipStream_t* stream, std::uint32_t words,
                                        const std::uint32_t* mask);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamQuery(hipStream_t stream);
int hipGetStreamDeviceId(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags);
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* data,
                                unsigned flags);
hipError_t hipStreamWriteValue64(hipStream_t stream, void* word, std::uint64_t value,
                                 unsigned flags);
hipError_t hipStreamWaitValue64(hipStream_t stream, void* word, std::uint64_t value, unsigned flags,
                                std::uint64_t mask);

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t begin, hipEvent_t end);

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph);
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status);
hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, std::size_t* count);
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t graph,
                                        unsigned long long flags);
hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream);
hipError_t hipGraphDestroy(hipGraph_t graph);
hipError_t hipGraphExecDestroy(hipGraphExec_t exec);
}
