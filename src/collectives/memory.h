#pragma once

#include "device/buffer.h"

namespace duet {

// Memory for one buffer of a collective, allocated by an engine's session and freed with the
// object.
class CollectiveMemory {
 public:
  virtual ~CollectiveMemory() = default;
  virtual Span span() const = 0;
};

}  // namespace duet
