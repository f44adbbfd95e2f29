// Memory that NCCL allocates, so that it can be registered as a window.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "collectives/engine.h"
#include "collectives/nccl/library.h"

namespace duet::nccl {

struct Allocation {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};

// What a session has allocated, so that a span's allocation is found again.
class Allocations {
 public:
  void add(const Allocation& allocation);
  void remove(const std::byte* base);
  std::optional<Allocation> around(const Span& span) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Allocation> all_;
};

// Memory of one device by ncclMemAlloc; freed with the object, after the windows on it.
class WindowMemory : public CollectiveMemory {
 public:
  // Throws OutOfMemory. The device must outlive the memory.
  WindowMemory(const Library& library, Device& device, std::uint64_t bytes,
               std::shared_ptr<Allocations> allocations);
  ~WindowMemory() override;
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;

  Span span() const override { return span_; }

 private:
  const Library& library_;
  std::shared_ptr<Allocations> allocations_;
  Span span_;
};

}  // namespace duet::nccl
