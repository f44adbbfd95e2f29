#pragma once

#include <string>
#include <vector>

#include "device/buffer.h"

namespace duet::gpu {

inline bool is_host_memory(const Span& span) {
  return span.kind == MemoryKind::pinned || span.kind == MemoryKind::pageable;
}

// Which devices of a machine can address each other's memory.
class Peers {
 public:
  explicit Peers(int devices)
      : devices_(devices), obstacles_(static_cast<std::size_t>(devices * devices)) {}

  // The reason why device `from` cannot address memory of device `to`; "" if it can.
  std::string& obstacle(int from, int to) { return obstacles_[at(from, to)]; }
  const std::string& obstacle(int from, int to) const { return obstacles_[at(from, to)]; }
  bool access(int from, int to) const { return obstacle(from, to).empty(); }

 private:
  std::size_t at(int from, int to) const { return static_cast<std::size_t>(from * devices_ + to); }

  int devices_;
  std::vector<std::string> obstacles_;
};

}  // namespace duet::gpu
