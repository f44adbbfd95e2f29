// What a soak finds wrong, and where.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace duet {

enum class SoakFault {
  memory,      // contents changed, or a cell does not keep what is written
  link,        // what arrived is not what was sent, and both ends keep what is written
  core,        // a product is not what the same inputs gave before, or gave on other devices
  collective,  // a collective's result is wrong
  counter,     // a counter of the driver has grown
  xid,         // the driver reported an error
  slow,        // a rate far below the run's
  lost,        // a device failed, or a wait did not end
};
const char* name(SoakFault fault);

struct SoakFinding {
  SoakFault fault = SoakFault::memory;
  std::string place;  // "cuda:3", "cuda:1 > cuda:6", "host > cuda:0"
  std::string text;   // what was found, in one line
};

// "memory at cuda:3: 1 of 1073741824 bytes differ ...": as records keep it.
std::string text_of(const SoakFinding& finding);
// Of such a text; nullopt for another one.
std::optional<SoakFinding> parse_soak_finding(std::string_view text);

}  // namespace duet
