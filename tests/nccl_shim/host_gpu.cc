#include "host_gpu.h"

#include <atomic>
#include <memory>
#include <mutex>

#include "nccl_shim/host/memory.h"
#include "nccl_shim/host/stream.h"

using duet::nccl_shim::host::HostGraph;
using duet::nccl_shim::host::HostStream;

namespace {
thread_local int current_device = 0;
std::atomic<bool> failed{false};
std::atomic<int> allocations{0};
std::mutex copying_out;
using Graph = std::shared_ptr<HostGraph>;
constexpr unsigned kDelayMicroseconds = 50;
}  // namespace

extern "C" {

void host_gpu_set_device(int device) { current_device = device; }

int host_gpu_device() { return current_device; }

void* host_gpu_create_stream() {
  return new HostStream(kDelayMicroseconds, static_cast<unsigned>(current_device) + 1);
}

void host_gpu_destroy_stream(void* stream) { delete &HostStream::of(stream); }

void host_gpu_synchronise(void* stream) { HostStream::of(stream).synchronise(); }

void host_gpu_launch(void* stream, void (*kernel)(void*), void* argument) {
  HostStream::of(stream).enqueue([=] { kernel(argument); });
}

void host_gpu_begin_capture(void* stream) { HostStream::of(stream).begin_capture(); }

void* host_gpu_end_capture(void* stream) { return new Graph(HostStream::of(stream).end_capture()); }

std::size_t host_gpu_graph_size(void* graph) { return (*static_cast<Graph*>(graph))->size(); }

void host_gpu_launch_graph(void* graph, void* stream) {
  (*static_cast<Graph*>(graph))->launch(HostStream::of(stream));
}

void host_gpu_copy_out(void* stream) {
  const std::lock_guard<std::mutex> lock(copying_out);
  host_gpu_synchronise(stream);
}

void host_gpu_wait_for_copies_out() { const std::lock_guard<std::mutex> lock(copying_out); }

void host_gpu_fork(void* from, void* to) {
  duet::nccl_shim::host::HostEvent event;
  event.record(HostStream::of(from));
  event.wait(HostStream::of(to));
}

void host_gpu_destroy_graph(void* graph) { delete static_cast<Graph*>(graph); }

void* host_gpu_allocate(std::size_t bytes) { return duet::nccl_shim::host::allocate(bytes); }

void host_gpu_free(void* memory) { duet::nccl_shim::host::release(memory); }

void host_gpu_fail() { failed = true; }

bool host_gpu_has_failed() { return failed; }

void host_gpu_count_allocation() { ++allocations; }

int host_gpu_allocations() { return allocations; }

}  // extern "C"
