// The plainest copies there are: ten cudaMemcpyAsync each, the best of them, pinned host memory to
// and from device 0, and device 0 to device 1 where there is one.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

static void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check((call), #call)

static double best_of_ten(void* to, const void* from, size_t bytes) {
  cudaEvent_t start, end;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&end));
  float best = 1e30f;
  for (int i = 0; i < 10; ++i) {
    CHECK(cudaEventRecord(start));
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault));
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, start, end));
    best = std::min(best, ms);
  }
  return static_cast<double>(bytes) / (best * 1e-3) / 1e9;
}

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  for (size_t bytes : {size_t{256} << 20, size_t{1} << 30}) {
    void *host, *device, *peer = nullptr;
    CHECK(cudaSetDevice(0));
    CHECK(cudaHostAlloc(&host, bytes, cudaHostAllocPortable));
    CHECK(cudaMalloc(&device, bytes));
    std::printf("%zu MiB host_to_device %.2f GB/s, device_to_host %.2f GB/s", bytes >> 20,
                best_of_ten(device, host, bytes), best_of_ten(host, device, bytes));
    if (devices > 1) {
      CHECK(cudaDeviceEnablePeerAccess(1, 0));
      CHECK(cudaSetDevice(1));
      CHECK(cudaMalloc(&peer, bytes));
      CHECK(cudaSetDevice(0));
      std::printf(", device 0 to 1 %.2f GB/s", best_of_ten(peer, device, bytes));
      CHECK(cudaDeviceDisablePeerAccess(1));
      CHECK(cudaFree(peer));
    }
    std::printf("\n");
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
  }
}
