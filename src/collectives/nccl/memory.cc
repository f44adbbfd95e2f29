#include "collectives/nccl/memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace duet::nccl {

void Allocations::add(const Allocation& allocation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  all_.push_back(allocation);
}

void Allocations::remove(const std::byte* base) {
  const std::lock_guard<std::mutex> lock(mutex_);
  all_.erase(std::remove_if(all_.begin(), all_.end(),
                            [base](const Allocation& each) { return each.base == base; }),
             all_.end());
}

std::optional<Allocation> Allocations::around(const Span& span) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Allocation& each : all_) {
    if (span.data >= each.base && span.data + span.bytes <= each.base + each.bytes) return each;
  }
  return std::nullopt;
}

WindowMemory::WindowMemory(const Library& library, Device& device, std::uint64_t bytes,
                           std::shared_ptr<Allocations> allocations)
    : library_(library), allocations_(std::move(allocations)) {
  if (bytes == 0) return;
  device.make_current();
  void* data = nullptr;
  const Result result = library_.mem_alloc(&data, bytes);
  if (result == kUnhandledDeviceError) {
    throw OutOfMemory(fmt::format("{}: {} has no {} bytes for a window", device.info().name,
                                  library_.product, bytes));
  }
  if (result != kSuccess) {
    throw_error(library_, result, "ncclMemAlloc", __FILE__, __LINE__);
  }
  span_ = {&device, static_cast<std::byte*>(data), bytes, MemoryKind::device};
  allocations_->add({span_.data, bytes});
}

WindowMemory::~WindowMemory() {
  if (span_.data == nullptr) return;
  allocations_->remove(span_.data);
  try {
    span_.owner->make_current();
  } catch (const Error&) {
    return;  // the device is lost, so its memory cannot be freed
  }
  forget(library_.mem_free(span_.data));
}

}  // namespace duet::nccl
