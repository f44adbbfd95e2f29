// Names of Cost::more of collectives, as nccl-tests counts them (docs/measuring.md).
#pragma once

namespace duet {

inline constexpr const char* kAlgorithmBytes = "algorithm_bytes";  // behind the algorithm bandwidth
inline constexpr const char* kBusBytes = "bus_bytes";              // these times the bus factor
// What leaves the busiest rank; missing: unknown.
inline constexpr const char* kBusiestWireBytes = "busiest_wire_bytes";

}  // namespace duet
