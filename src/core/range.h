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

}  // namespace duet
