// "GPUs" of the host for programs under test: what cuda_runtime.h is to a user of NCCL.
#pragma once

#include <cstddef>

extern "C" {
void host_gpu_set_device(int device);  // of the calling thread
int host_gpu_device();
void* host_gpu_create_stream();
void host_gpu_synchronise(void* stream);
void host_gpu_launch(void* stream, void (*kernel)(void*), void* argument);
void* host_gpu_allocate(std::size_t bytes);
void host_gpu_free(void* memory);
// From here on calls of the stand-in for libcuda fail, as behind an invalid access of a kernel.
void host_gpu_fail();
bool host_gpu_has_failed();
}
