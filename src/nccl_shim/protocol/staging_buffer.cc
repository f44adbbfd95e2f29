#include "nccl_shim/protocol/staging_buffer.h"

#include <algorithm>

namespace duet::nccl_shim {

StagingBuffer::~StagingBuffer() {
  for (void* each : memory_) device_.free(each);
}

char* StagingBuffer::at_least(std::size_t bytes) {
  if (bytes > bytes_) {
    const std::size_t wanted = std::max(bytes, 2 * bytes_);
    memory_.push_back(device_.allocate(wanted));
    bytes_ = wanted;
  }
  return static_cast<char*>(memory_.back());
}

}  // namespace duet::nccl_shim
