#pragma once

namespace duet {

// How long a call waits for other ranks, other processes or work on a device before it throws
// Timeout, unless its caller gives another deadline.
inline constexpr double kDefaultDeadlineSeconds = 60;

}  // namespace duet
