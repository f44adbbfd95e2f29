#pragma once

#include <string>
#include <vector>

#include "fabric/libfabric/check.h"
#include "fabric/rail.h"

namespace duet::libfabric {

// Providers whose endpoints have all that Duet's rails need.
std::vector<std::string> usable_providers();

struct Candidate {
  RailInfo info;
  Info fi;  // to open it with
};

// A provider's rails, one per NIC or address, in libfabric's order; `gpu_memory`: only those that
// reach GPU memory. Empty where the provider cannot be used here. `why` then has libfabric's
// reason.
std::vector<Candidate> candidates(const std::string& provider, bool gpu_memory, std::string& why);

}  // namespace duet::libfabric
