#pragma once

#include <cstdint>
#include <optional>

#include "device/device.h"

namespace duet {

// The workspace of a plan: memory that several plans share, where that is large enough, else its
// own.
class Workspace {
 public:
  Workspace(Device& device, std::uint64_t bytes, const std::optional<Span>& shared) {
    if (shared && shared->bytes >= bytes) {
      span_ = *shared;
    } else {
      own_ = device.allocate(bytes);
      span_ = own_.span();
    }
  }

  const Span& span() const { return span_; }
  std::uint64_t own_bytes() const { return own_.bytes(); }

 private:
  Buffer own_;
  Span span_;
};

}  // namespace duet
