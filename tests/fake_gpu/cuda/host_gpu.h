// "GPUs" of the host for programs under test: what cuda_runtime.h is to a user of NCCL.
#pragma once

#include <cstddef>

extern "C" {
void host_gpu_set_device(int device);  // of the calling thread
int host_gpu_device();
const char* host_gpu_model();  // of all devices: $HOST_GPU_MODEL, else ""
void* host_gpu_create_stream();
void host_gpu_destroy_stream(void* stream);
void host_gpu_synchronise(void* stream);
void host_gpu_launch(void* stream, void (*kernel)(void*), void* argument);
// As CUDA graphs: what `stream` is given between these two is the graph's, and so is what streams
// are given that wait for it.
void host_gpu_begin_capture(void* stream);
void* host_gpu_end_capture(void* stream);
std::size_t host_gpu_graph_size(void* graph);
void host_gpu_launch_graph(void* graph, void* stream);
void host_gpu_destroy_graph(void* graph);
// As a copy to pageable memory: returns when `stream` has done what it has. Until then calls of the
// stand-in for libcuda that record events wait.
void host_gpu_copy_out(void* stream);
void host_gpu_wait_for_copies_out();
void host_gpu_fork(void* from, void* to);  // what comes next on `to` waits for what `from` has
void* host_gpu_allocate(std::size_t bytes);
void host_gpu_free(void* memory);
// From here on calls of the stand-in for libcuda fail, as behind an invalid access of a kernel.
void host_gpu_fail();
bool host_gpu_has_failed();
// How often the stand-in for libcuda has allocated memory.
void host_gpu_count_allocation();
int host_gpu_allocations();
}
