#include "fake_gpu/cuda/host_gpu.h"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>

#include "fake_gpu/core/memory.h"
#include "fake_gpu/core/streams.h"

using fake_gpu::Graph;
using fake_gpu::Kind;
using fake_gpu::Stream;

namespace {
thread_local int current_device = 0;
std::atomic<bool> failed{false};
std::atomic<int> allocations{0};
std::mutex copying_out;
using Captured = std::shared_ptr<Graph>;
constexpr unsigned kDelayMicroseconds = 50;

// As on a GPU, a stream that the program does not destroy lives as long as it.
struct Streams {
  std::mutex mutex;
  std::set<Stream*> all;
};
Streams& streams() {
  static auto* const made = new Streams;
  return *made;
}
}  // namespace

extern "C" {

void host_gpu_set_device(int device) { current_device = device; }

int host_gpu_device() { return current_device; }

const char* host_gpu_model() {
  const char* const model = std::getenv("HOST_GPU_MODEL");
  return model == nullptr ? "" : model;
}

void* host_gpu_create_stream() {
  auto* const made =
      new Stream(current_device, kDelayMicroseconds, static_cast<unsigned>(current_device) + 1);
  const std::lock_guard<std::mutex> lock(streams().mutex);
  streams().all.insert(made);
  return made;
}

void host_gpu_destroy_stream(void* stream) {
  host_gpu_synchronise(stream);
  {
    const std::lock_guard<std::mutex> lock(streams().mutex);
    streams().all.erase(&Stream::of(stream));
  }
  delete &Stream::of(stream);
}

void host_gpu_synchronise(void* stream) { Stream::of(stream).synchronise(); }

void host_gpu_launch(void* stream, void (*kernel)(void*), void* argument) {
  Stream::of(stream).enqueue([=] { kernel(argument); });
}

void host_gpu_begin_capture(void* stream) { Stream::of(stream).begin_capture(); }

void* host_gpu_end_capture(void* stream) { return new Captured(Stream::of(stream).end_capture()); }

std::size_t host_gpu_graph_size(void* graph) { return (*static_cast<Captured*>(graph))->size(); }

void host_gpu_launch_graph(void* graph, void* stream) {
  (*static_cast<Captured*>(graph))->launch(Stream::of(stream));
}

void host_gpu_copy_out(void* stream) {
  const std::lock_guard<std::mutex> lock(copying_out);
  host_gpu_synchronise(stream);
}

void host_gpu_wait_for_copies_out() { const std::lock_guard<std::mutex> lock(copying_out); }

void host_gpu_fork(void* from, void* to) {
  fake_gpu::Event event;
  event.record(Stream::of(from));
  event.wait(Stream::of(to));
}

void host_gpu_destroy_graph(void* graph) { delete static_cast<Captured*>(graph); }

void* host_gpu_allocate(std::size_t bytes) {
  return fake_gpu::memory().allocate(Kind::device, current_device, bytes, false);
}

void host_gpu_free(void* memory) { fake_gpu::memory().release(Kind::device, memory, true); }

void host_gpu_fail() { failed = true; }

bool host_gpu_has_failed() { return failed; }

void host_gpu_count_allocation() { ++allocations; }

int host_gpu_allocations() { return allocations; }

}  // extern "C"
