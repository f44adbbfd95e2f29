#include "fake_gpu/cuda/host_segments.h"

#include <unistd.h>

#include <cstring>
#include <string>

#include "device/descriptors.h"

namespace duet::nccl_shim::testing {

using host_vmm::kGranule;

std::vector<Allocation> TestSegments::of(const void* pointer, std::size_t bytes) {
  std::vector<Allocation> segments;
  const auto* const end = static_cast<const char*>(pointer) + bytes;
  for (const void* at = pointer; at < end;) {
    const host_vmm::Mapping found = host_vmm::find(at);
    if (found.base == nullptr) return {};
    segments.push_back(
        {reinterpret_cast<std::uintptr_t>(found.base), found.bytes, found.handle, true});
    at = found.base + found.bytes;
  }
  return segments;
}

bool TestSegments::exists(const Allocation& segment) {
  const auto* const base = reinterpret_cast<const char*>(segment.base);
  const host_vmm::Mapping found = host_vmm::find(base);
  return found.base == base && found.bytes == segment.bytes && found.handle == segment.id;
}

ExportedMemory TestSegments::lend(const Allocation& segment, const std::vector<int>& to) {
  const host_vmm::Handle kept = host_vmm::retain(reinterpret_cast<const void*>(segment.base));
  ExportedMemory memory{};
  if (to.empty()) return memory;
  const std::string loan = DescriptorServer::instance().lend(host_vmm::export_descriptor(kept), to);
  std::memcpy(memory.bytes, loan.c_str(), loan.size());
  return memory;
}

void TestSegments::take_back(const Allocation& segment, const ExportedMemory& memory) {
  const std::string loan(reinterpret_cast<const char*>(memory.bytes));
  if (!loan.empty()) DescriptorServer::instance().take_back(loan);
  host_vmm::release(segment.id);
}

std::uint64_t TestSegments::import_segment(int process, const ExportedMemory& memory) {
  const int descriptor = borrow(process, reinterpret_cast<const char*>(memory.bytes));
  const std::uint64_t handle = host_vmm::import_descriptor(device_, descriptor);
  close(descriptor);
  return handle;
}

void TestSegments::map(char* at, std::size_t bytes, std::uint64_t handle) {
  ++mapped;
  host_vmm::map(at, bytes, handle);
  host_vmm::set_access(at, bytes, device_);
}

void TestSegments::map_new(char* at, std::size_t bytes) {
  const host_vmm::Handle handle = host_vmm::create(device_, bytes);
  host_vmm::map(at, bytes, handle);
  host_vmm::set_access(at, bytes, device_);
  host_vmm::release(handle);
}

char* TestSegments::make(std::size_t count) {
  char* const base = reserve(count * kGranule);
  for (std::size_t i = 0; i < count; ++i) map_new(base + i * kGranule, kGranule);
  return base;
}

void TestSegments::destroy(char* base, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) unmap(base + i * kGranule, kGranule);
  unreserve(base, count * kGranule);
}

}  // namespace duet::nccl_shim::testing
