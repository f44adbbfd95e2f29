// What libfabric has on this machine: its providers, and each one's NICs or interfaces.
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
  Info fi;  // opens it
};

// One a NIC or address, in libfabric's order; `gpu_memory`: only those that reach it. Empty where
// the provider is not usable here. `why` then has libfabric's reason.
std::vector<Candidate> candidates(const std::string& provider, bool gpu_memory, std::string& why);

}  // namespace duet::libfabric
