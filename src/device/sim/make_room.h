#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace duet::sim {

// Reserves capacity for `more` further elements, so that adding them cannot throw. The capacity at
// least doubles when it grows.
template <typename T>
void make_room(std::vector<T>& vector, std::size_t more) {
  const std::size_t size = vector.size() + more;
  if (size > vector.capacity()) vector.reserve(std::max(size, 2 * vector.capacity()));
}

}  // namespace duet::sim
