// What figures of files may be.
#pragma once

#include <fmt/format.h>

#include <string>

namespace duet {

// Outside of it no machine is, and what counts with it may not come to an end.
struct Range {
  double least = 0, most = 0;
  const char* unit = "";  // as messages name it: "GB/s"

  // False for what is no number.
  bool has(double value) const { return value >= least && value <= most; }
  // "a number of GB/s from 0.1 to 1000000".
  std::string text() const {
    const std::string of = unit[0] == 0 ? "" : fmt::format(" of {}", unit);
    return fmt::format("a number{} from {} to {}", of, least, most);
  }
};

}  // namespace duet
