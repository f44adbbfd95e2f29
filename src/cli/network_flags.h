// The flags of commands whose collectives go over nodes (docs/nodes.md).
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "team/network_options.h"

namespace duet {

inline constexpr double kMostGbit = 1e6;  // Gbit/s of one rail

struct NetworkFlags {
  std::string node_size, provider, rails, stall;
  double link_gbit = 0;
  bool failover = false, staged = false;
};
void add_network_flags(CLI::App& app, NetworkFlags& flags);
// What shells offer for --provider.
std::vector<std::string> provider_words();

// These throw UsageError.
NetworkOptions network_of(const NetworkFlags& flags);
int node_size_of(const NetworkFlags& flags);  // ranks that are taken for a node; 0: not given
void refuse_network_flags(const NetworkFlags& flags, const std::string& why);

}  // namespace duet
