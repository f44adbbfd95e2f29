#pragma once

#include <fmt/format.h>

#include <string>

namespace duet {

// The values that a figure of a file may have, bounds included. No machine is outside the range,
// and a simulation with a figure outside it may never end.
struct Range {
  double least = 0, most = 0;
  const char* unit = "";  // as messages name it: "GB/s"

  // False for NaN.
  bool has(double value) const { return value >= least && value <= most; }
  // For messages: "a number of GB/s from 0.1 to 1000000".
  std::string text() const {
    const std::string of = unit[0] == 0 ? "" : fmt::format(" of {}", unit);
    return fmt::format("a number{} from {} to {}", of, least, most);
  }
};

// The ranges of figures in device specs and platform files: what machines have, with room for years
// to come. Figures far beyond would stop virtual time, or run it past every deadline.

inline constexpr Range kShareRange{1e-3, 1, ""};
inline constexpr Range kMicrosecondsRange{0, 1e5, "us"};
inline constexpr Range kGbPerSRange{0.1, 1e6, "GB/s"};
inline constexpr Range kTflopsRange{0.1, 1e6, "TFLOP/s"};
inline constexpr Range kMemoryGibRange{0.0625, 1e6, "GiB"};
inline constexpr Range kWattsRange{1, 1e6, "W"};
inline constexpr Range kJoulesPerGb{0, 1000, "J/GB"};

inline constexpr int kMostUnits = 100000;
inline constexpr int kMostLinks = 1024;

}  // namespace duet
