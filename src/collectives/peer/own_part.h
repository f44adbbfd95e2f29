// The part of a collective that stays on its device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/stream.h"

namespace duet {

// How a kernel copies it, on a lane of the highest priority.
struct OwnPart {
  // A thin kernel runs beside another that has taken all units. Else few blocks, which wait for it.
  bool thin = false;
  bool behind_a_push = false;  // of kHeadStart bytes

  // What links send, and a thin kernel copies, in 40 us.
  static constexpr std::size_t kHeadStart = 16u << 20;

  Copy copy(const Span& target, const Span& source) const;
  std::string words() const;  // for algorithm()
};

// For so many bytes of it beside so many pushes of as many.
OwnPart own_part(std::uint64_t bytes, std::size_t pushes);

}  // namespace duet
