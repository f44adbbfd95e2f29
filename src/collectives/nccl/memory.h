#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "collectives/engine.h"
#include "collectives/nccl/library.h"

namespace duet::nccl {

// One allocation by ncclMemAlloc. NCCL registers such memory as windows.
struct Allocation {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};

// The allocations of a session, searched by address.
class Allocations {
 public:
  void add(const Allocation& allocation);
  void remove(const std::byte* base);
  // The allocation that contains the span; empty if none does.
  std::optional<Allocation> around(const Span& span) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Allocation> all_;
};

// Memory of one device, allocated by ncclMemAlloc and freed with the object. Windows on the memory
// must have been deregistered before.
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
