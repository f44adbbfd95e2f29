#include "host_gpu.h"

#include <atomic>

#include "nccl_shim/host/memory.h"
#include "nccl_shim/host/stream.h"

using duet::nccl_shim::host::HostStream;

namespace {
thread_local int current_device = 0;
std::atomic<bool> failed{false};
constexpr unsigned kDelayMicroseconds = 50;
}  // namespace

extern "C" {

void host_gpu_set_device(int device) { current_device = device; }

int host_gpu_device() { return current_device; }

void* host_gpu_create_stream() {
  return new HostStream(kDelayMicroseconds, static_cast<unsigned>(current_device) + 1);
}

void host_gpu_synchronise(void* stream) { HostStream::of(stream).synchronise(); }

void host_gpu_launch(void* stream, void (*kernel)(void*), void* argument) {
  HostStream::of(stream).enqueue([=] { kernel(argument); });
}

void* host_gpu_allocate(std::size_t bytes) { return duet::nccl_shim::host::allocate(bytes); }

void host_gpu_free(void* memory) { duet::nccl_shim::host::release(memory); }

void host_gpu_fail() { failed = true; }

bool host_gpu_has_failed() { return failed; }

}  // extern "C"
