// The names under which device/gpu uses the CUDA runtime. Functions in which CUDA differs from HIP
// are in the other files of this folder.
#pragma once

#include <cuda_runtime_api.h>

#define DUET_GPU cuda
#define DUET_GPU_NAME "cuda"

// GPU(Free) is cudaFree. The other names are those of which the vendors' differ in more.
#define GPU(name) cuda##name

#define gpuDeviceProp_t cudaDeviceProp
#define gpuDevAttrClockRate cudaDevAttrClockRate
#define gpuDevAttrMaxSharedMemory cudaDevAttrMaxSharedMemoryPerBlockOptin
#define gpuDevAttrMemoryBusWidth cudaDevAttrGlobalMemoryBusWidth
#define gpuDevAttrMemoryClockRate cudaDevAttrMemoryClockRate

#define gpuHostAlloc cudaHostAlloc
#define gpuHostAllocMapped cudaHostAllocMapped
#define gpuHostAllocPortable cudaHostAllocPortable
#define gpuFreeHost cudaFreeHost
#define gpuMallocCoherent cudaMalloc
