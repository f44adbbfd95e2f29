// Names of Cost::more of what goes over a network.
#pragma once

namespace duet {

// Of network messages the bytes of one. Of collectives over nodes the bytes that leave their nodes;
// missing: none, or unknown.
inline constexpr const char* kNetworkBytes = "network_bytes";
// With kNetworkBytes: the nominal rate of the links that a message may use, of collectives that of
// all ranks' links between nodes, one direction; 0: unknown.
inline constexpr const char* kLinkGbitPerS = "link_gbit_per_s";

}  // namespace duet
