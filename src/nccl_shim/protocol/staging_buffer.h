#pragma once

#include <cstddef>
#include <vector>

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim {

// Memory of the drop-in's own in the place of a buffer that cannot be lent. Earlier, shorter memory
// is kept to the end, because freeing may wait for the device; lengths double, so that it is no
// more than the longest.
class StagingBuffer {
 public:
  explicit StagingBuffer(ShimDevice& device) : device_(device) {}
  ~StagingBuffer();
  StagingBuffer(const StagingBuffer&) = delete;
  StagingBuffer& operator=(const StagingBuffer&) = delete;

  char* at_least(std::size_t bytes);

 private:
  ShimDevice& device_;
  std::vector<void*> memory_;
  std::size_t bytes_ = 0;  // of the last
};

}  // namespace duet::nccl_shim
