// How two works share a machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace duet {

struct OverlapPolicy {
  enum class Kind {
    serial,              // one after the other
    base,                // compute first, streams of equal priority
    priority,            // communication first, on a stream of the highest priority
    partition,           // units of the device kept for communication
    priority_partition,  // both
    zero_cta,            // the vendor's copy-engine mode
    dma,                 // Duet's copy engines
    dma_partition,       // the same, while compute gives up units
  };

  Kind kind = Kind::base;
  int units = 0;  // of a partition; 0: the best of its sweep

  bool operator==(const OverlapPolicy& other) const {
    return kind == other.kind && units == other.units;
  }
};

// "priority+partition:8".
std::string name(const OverlapPolicy& policy);

// One, or several between commas; `all` is every kind once. Throws UsageError naming what was
// expected.
std::vector<OverlapPolicy> parse_policies(std::string_view text);

bool has_partition(OverlapPolicy::Kind kind);
bool by_dma(OverlapPolicy::Kind kind);  // does Duet's engine of that name run the collective?

}  // namespace duet
