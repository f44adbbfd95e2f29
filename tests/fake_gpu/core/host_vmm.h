// Virtual memory management of the host's "GPUs", as CUDA's: segments of physical memory (memfds),
// which are mapped at reserved addresses. What CUDA forbids throws duet::Error. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace host_vmm {

constexpr std::size_t kGranule = 2u << 20;  // of sizes and addresses

// The smallest number that names no segment. A segment ends with its last reference and mapping.
using Handle = std::uint64_t;
Handle create(int device, std::size_t bytes, bool exportable = true);
Handle retain(const void* address);
void release(Handle handle);
int export_descriptor(Handle handle);
Handle import_descriptor(int device, int descriptor);
int device_of(Handle handle);
bool is_exportable(Handle handle);

char* reserve(std::size_t bytes, std::uintptr_t wanted = 0);  // there, unless 0
// A multiple of `bytes` with nothing around it, for reserve().
std::uintptr_t unused_multiple(std::size_t bytes);
void unreserve(char* base, std::size_t bytes);
// Nobody reaches what is mapped before set_access().
void map(char* at, std::size_t bytes, Handle handle);
void unmap(char* at, std::size_t bytes);
void set_access(char* at, std::size_t bytes, int device);
bool has_access(const void* address, int device);

struct Mapping {
  char* base = nullptr;  // null: nothing is mapped at the address
  std::size_t bytes = 0;
  Handle handle = 0;
  int device = 0;
};
Mapping find(const void* address);
// Whether `device` reaches all that is mapped of it.
bool reaches(const void* address, std::size_t bytes, int device);
std::size_t segments();  // that exist in this process

}  // namespace host_vmm
