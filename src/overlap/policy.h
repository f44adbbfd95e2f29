#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace duet {

enum class OverlapPolicyKind {
  serial,              // one work after the other
  base,                // compute first, streams of equal priority
  priority,            // communication first, on a stream of the highest priority
  partition,           // some compute units are reserved for communication
  priority_partition,  // priority and partition
  zero_cta,            // communication by the vendor's copy-engine mode
  dma,                 // communication by Duet's engine `dma`
  dma_partition,       // dma, and compute leaves some units unused
};

// How two works share a machine.
struct OverlapPolicy {
  using Kind = OverlapPolicyKind;  // its name in earlier versions

  OverlapPolicyKind kind = OverlapPolicyKind::base;
  int units = 0;  // compute units of a partition; 0: the best of the sweep

  bool operator==(const OverlapPolicy& other) const {
    return kind == other.kind && units == other.units;
  }
};

// The policy's name, such as "priority+partition:8".
std::string name(const OverlapPolicy& policy);

// Parses one policy, or several separated by commas; `all` is every kind once. Throws UsageError
// that names what was expected.
std::vector<OverlapPolicy> parse_policies(std::string_view text);

bool has_partition(OverlapPolicyKind kind);
bool by_dma(OverlapPolicyKind kind);  // whether the engine `dma` runs the collective

}  // namespace duet
