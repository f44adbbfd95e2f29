#pragma once

#include <string>
#include <vector>

#include "fabric/rail.h"

namespace duet {

// The fabric of this machine, for `duet info`.
struct FabricOverview {
  std::string library;  // "libfabric 1.17"; "" where there is none
  std::string reason;   // why there is none
  struct Provider {
    std::string name;
    std::vector<RailInfo> rails;
  };
  std::vector<Provider> providers;  // that can be used
};

FabricOverview fabric_overview();

}  // namespace duet
