// The names under which device/gpu uses the HIP runtime. Functions in which HIP differs from CUDA
// are in the other files of this folder.
#pragma once

#include <hip/hip_runtime_api.h>

// HIP 5 has no uncached memory. Fine-grained memory is coherent with other devices too.
#if HIP_VERSION_MAJOR >= 6
#define DUET_HIP_COHERENT hipDeviceMallocUncached
#else
#define DUET_HIP_COHERENT hipDeviceMallocFinegrained
#endif

#define DUET_GPU hip
#define DUET_GPU_NAME "hip"

#define gpuError_t hipError_t
#define gpuSuccess hipSuccess
#define gpuErrorInvalidValue hipErrorInvalidValue
#define gpuErrorMemoryAllocation hipErrorMemoryAllocation
#define gpuErrorNotReady hipErrorNotReady
#define gpuErrorPeerAccessAlreadyEnabled hipErrorPeerAccessAlreadyEnabled
#define gpuGetErrorName hipGetErrorName
#define gpuGetErrorString hipGetErrorString
#define gpuGetLastError hipGetLastError

#define gpuDeviceProp_t hipDeviceProp_t
#define gpuDevAttrClockRate hipDeviceAttributeClockRate
#define gpuDevAttrMaxSharedMemory hipDeviceAttributeSharedMemPerBlockOptin
#define gpuDevAttrMemoryBusWidth hipDeviceAttributeMemoryBusWidth
#define gpuDevAttrMemoryClockRate hipDeviceAttributeMemoryClockRate
#define gpuDeviceCanAccessPeer hipDeviceCanAccessPeer
#define gpuDeviceEnablePeerAccess hipDeviceEnablePeerAccess
#define gpuDeviceGetAttribute hipDeviceGetAttribute
#define gpuDeviceGetPCIBusId hipDeviceGetPCIBusId
#define gpuDeviceGetStreamPriorityRange hipDeviceGetStreamPriorityRange
#define gpuDeviceSynchronize hipDeviceSynchronize
#define gpuGetDeviceCount hipGetDeviceCount
#define gpuGetDeviceProperties hipGetDeviceProperties
#define gpuRuntimeGetVersion hipRuntimeGetVersion
#define gpuSetDevice hipSetDevice

#define gpuFree hipFree
#define gpuHostAlloc hipHostMalloc
#define gpuHostAllocMapped hipHostMallocMapped
#define gpuHostAllocPortable hipHostMallocPortable
#define gpuFreeHost hipHostFree
#define gpuMalloc hipMalloc
#define gpuMallocCoherent(data, bytes) hipExtMallocWithFlags(data, bytes, DUET_HIP_COHERENT)
#define gpuMallocManaged hipMallocManaged
#define gpuMemAttachGlobal hipMemAttachGlobal
#define gpuMemcpyAsync hipMemcpyAsync
#define gpuMemcpyDefault hipMemcpyDefault
#define gpuMemcpyPeerAsync hipMemcpyPeerAsync
#define gpuMemsetAsync hipMemsetAsync

#define gpuEvent_t hipEvent_t
#define gpuEventCreateWithFlags hipEventCreateWithFlags
#define gpuEventDefault hipEventDefault
#define gpuEventDestroy hipEventDestroy
#define gpuEventDisableTiming hipEventDisableTiming
#define gpuEventElapsedTime hipEventElapsedTime
#define gpuEventQuery hipEventQuery
#define gpuEventRecord hipEventRecord

#define gpuStream_t hipStream_t
#define gpuStreamCreateWithPriority hipStreamCreateWithPriority
#define gpuStreamDestroy hipStreamDestroy
#define gpuStreamNonBlocking hipStreamNonBlocking
#define gpuStreamQuery hipStreamQuery
#define gpuStreamWaitEvent hipStreamWaitEvent

#define gpuFuncAttributes hipFuncAttributes
#define gpuFuncGetAttributes hipFuncGetAttributes
#define gpuFuncSetAttribute hipFuncSetAttribute
#define gpuFuncAttributeMaxDynamicSharedMemorySize hipFuncAttributeMaxDynamicSharedMemorySize

#define gpuGraph_t hipGraph_t
#define gpuGraphDestroy hipGraphDestroy
#define gpuGraphExecDestroy hipGraphExecDestroy
#define gpuGraphExec_t hipGraphExec_t
#define gpuGraphGetNodes hipGraphGetNodes
#define gpuGraphInstantiateWithFlags hipGraphInstantiateWithFlags
#define gpuGraphLaunch hipGraphLaunch

#define gpuErrorStreamCaptureUnsupported hipErrorStreamCaptureUnsupported
#define gpuStreamBeginCapture hipStreamBeginCapture
#define gpuStreamCaptureModeRelaxed hipStreamCaptureModeRelaxed
#define gpuStreamCaptureStatus hipStreamCaptureStatus
#define gpuStreamCaptureStatusNone hipStreamCaptureStatusNone
#define gpuStreamEndCapture hipStreamEndCapture
#define gpuStreamIsCapturing hipStreamIsCapturing
