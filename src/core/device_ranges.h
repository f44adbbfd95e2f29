// The ranges of figures in device specs and platform files: what machines have, with room for years
// to come. Figures far beyond would stop virtual time, or run it past every deadline.
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
