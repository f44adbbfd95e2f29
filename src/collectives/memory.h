// Memory for a rank's buffer of a collective, whoever allocated it.
#pragma once

#include "device/buffer.h"

namespace duet {

// Freed with the object.
class CollectiveMemory {
 public:
  virtual ~CollectiveMemory() = default;
  virtual Span span() const = 0;
};

}  // namespace duet
