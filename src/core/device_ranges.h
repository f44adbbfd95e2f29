// What figures of devices may be, in whichever file they stand: platforms, and what makers promise.
// What machines have, or may have for a long while; figures far beyond would make virtual time
// stand still, or run past every deadline.
#pragma once

#include "core/range.h"

namespace duet {

inline constexpr Range kShareRange{1e-3, 1, ""};
inline constexpr Range kMicrosecondsRange{0, 1e5, "us"};
inline constexpr Range kGbPerSRange{0.1, 1e6, "GB/s"};
inline constexpr Range kTflopsRange{0.1, 1e6, "TFLOP/s"};
inline constexpr Range kMemoryGibRange{0.0625, 1e6, "GiB"};
inline constexpr Range kWattsRange{1, 1e6, "W"};

inline constexpr int kMostUnits = 100000;
inline constexpr int kMostLinks = 1024;

}  // namespace duet
