#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <new>

#include "core/error.h"
#include "drop_in_kernels.h"
#include "nccl_shim/cuda/device.h"

namespace duet::nccl_shim::testing {
namespace {

void must_succeed(cudaError_t result) {
  if (result != cudaSuccess) throw Error(cudaGetErrorString(result));
}

// Of the first GPU. Never ended: contexts are not either.
ShimDevice& gpu() {
  static ShimDevice* device = nullptr;
  if (device != nullptr) return *device;
  must_succeed(cudaSetDevice(0));
  must_succeed(cudaFree(nullptr));  // makes the context
  CUcontext context = nullptr;
  cuda::check(cuda::driver().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  device = new cuda::CudaShimDevice(context);
  if (!device->can_reduce() || !device->can_exchange_packets() || !device->can_exchange_chunks())
    throw Error("expected kernels for this GPU");
  return *device;
}

}  // namespace

unsigned char* memory_of_both(std::size_t bytes) {
  void* memory = nullptr;
  must_succeed(cudaMallocManaged(&memory, bytes));
  return static_cast<unsigned char*>(memory);
}

void reduce_by_kernel(const PartsToReduce& reduced) {
  gpu().reduce(nullptr, reduced);
  must_succeed(cudaDeviceSynchronize());
}

ExchangeWords& words_of_both() {
  static ExchangeWords* words = nullptr;
  if (words != nullptr) return *words;
  constexpr std::size_t kPage = 4096;
  void* const page = std::aligned_alloc(kPage, kPage);
  gpu().share_words(page, kPage);
  words = new (page) ExchangeWords{};
  return *words;
}

void exchange_by_kernel(const PacketExchange& exchanged) {
  gpu().exchange(nullptr, exchanged);
  must_succeed(cudaDeviceSynchronize());
}

void exchange_by_kernel(const ChunkExchange& exchanged) {
  gpu().exchange(nullptr, exchanged);
  must_succeed(cudaDeviceSynchronize());
}

}  // namespace duet::nccl_shim::testing
