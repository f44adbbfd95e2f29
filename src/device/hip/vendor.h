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

// GPU(Free) is hipFree. The other names are those of which the vendors' differ in more.
#define GPU(name) hip##name

#define gpuDeviceProp_t hipDeviceProp_t
#define gpuDevAttrClockRate hipDeviceAttributeClockRate
#define gpuDevAttrMaxSharedMemory hipDeviceAttributeSharedMemPerBlockOptin
#define gpuDevAttrMemoryBusWidth hipDeviceAttributeMemoryBusWidth
#define gpuDevAttrMemoryClockRate hipDeviceAttributeMemoryClockRate

#define gpuHostAlloc hipHostMalloc
#define gpuHostAllocMapped hipHostMallocMapped
#define gpuHostAllocPortable hipHostMallocPortable
#define gpuFreeHost hipHostFree
#define gpuMallocCoherent(data, bytes) hipExtMallocWithFlags(data, bytes, DUET_HIP_COHERENT)
