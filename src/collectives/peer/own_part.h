// The part of a collective that stays on its device.
#pragma once

#include <string>

#include "device/stream.h"

namespace duet {

// Its copy: a kernel of few blocks, for a lane of the highest priority.
Copy copy_of_own(const Span& target, const Span& source);

// In words, for algorithm().
std::string words_for_own();

}  // namespace duet
