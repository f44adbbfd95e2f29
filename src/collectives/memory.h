#pragma once

#include <utility>

#include "device/buffer.h"

namespace duet {

// Those that a collective is bound to (collective.h).
struct CollectiveBuffers {
  Span send, recv;
  // Of a collective with a SumNorm: the receive buffer's size, and a row. `updated` may be
  // `residual`; apart from that they overlap no other buffer. They are of this rank alone.
  Span residual = {}, updated = {}, weight = {};
};

// Other places for them, of the same sizes, in one call (CollectivePlan::enqueue_at()).
struct BufferAddresses {
  const void* send = nullptr;
  void* recv = nullptr;
  // Of a collective with a SumNorm.
  const void* residual = nullptr;
  void* updated = nullptr;
  const void* weight = nullptr;
};

// Memory for one buffer of a collective, allocated by an engine's session and freed with the
// object.
class CollectiveMemory {
 public:
  virtual ~CollectiveMemory() = default;
  virtual Span span() const = 0;
};

// Device memory that no session has to know of.
class PlainMemory : public CollectiveMemory {
 public:
  explicit PlainMemory(Buffer buffer) : buffer_(std::move(buffer)) {}
  Span span() const override { return buffer_.span(); }

 private:
  Buffer buffer_;
};

}  // namespace duet
