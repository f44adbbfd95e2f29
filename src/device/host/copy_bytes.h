// Moving bytes on the CPU. Large copies go past the caches: an ordinary store reads its line from
// memory first, which costs a third of the traffic, and libraries often judge the cache too large
// to avoid it (they see a whole socket's).
#pragma once

#include <cstddef>

namespace duet::host {

enum class Through { caches, memory };

// Any alignment and length; the spans do not overlap.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes, Through through);

}  // namespace duet::host
