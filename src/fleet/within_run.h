// Which devices and links of one run are slower than their peers on the same node.
#pragma once

#include <string>
#include <vector>

#include "fleet/judge.h"
#include "results/record.h"

namespace duet {

struct UnlikePeers {
  std::string place;  // "cuda:3", "cuda:0 - cuda:3"
  Sureness sureness = Sureness::possible;
  std::string text;  // "8.2% slower than its peers in gemm 1 of 1, copy local 1 of 1 (sure)"
};

struct PeersWithin {
  int figures = 0;  // that have peers enough
  std::vector<UnlikePeers> unlike;
};

// Of several records of a case the last one counts.
PeersWithin peers_within(const Environment& environment, const std::vector<Record>& records);

}  // namespace duet
