#pragma once

#include <cstddef>

namespace duet::host {

// How a copy stores. An ordinary store first reads its cache line from memory, which is a third of
// a large copy's traffic. The C library's own choice often comes too late, because it sees the
// cache of a whole socket.
enum class Through {
  caches,  // memcpy()
  memory   // non-temporal stores
};

// Copies `bytes` bytes of any alignment. The two ranges must not overlap.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes, Through through);

}  // namespace duet::host
