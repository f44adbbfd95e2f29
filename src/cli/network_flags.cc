#include "cli/network_flags.h"

#include "cli/flags.h"
#include "cli/lists.h"
#include "core/error.h"

namespace duet {

void add_network_flags(CLI::App& app, NetworkFlags& flags) {
  const auto add = [&](const char* flag, std::string& value, const char* type, const char* text) {
    app.add_option(flag, value, text)->type_name(type)->check(not_empty());
  };
  add("--node-size", flags.node_size, "COUNT",
      "Take every COUNT consecutive ranks for a node (docs/nodes.md); default: a node is who can "
      "map each other's memory");
  add("--provider", flags.provider, "NAME",
      "Between nodes: libfabric's provider (tcp;ofi_rxm, shm, efa); default: tcp;ofi_rxm, or "
      "copies where ranks of all nodes can map each other's memory");
  add("--rails", flags.rails, "LIST",
      "Between nodes: rails of each node by name or address, a number or all, which its ranks "
      "share; default all");
  add("--stall", flags.stall, "SECONDS",
      "Between nodes: a rail on which nothing ends for so long is lost; default 10");
  app.add_option("--link-gbit", flags.link_gbit,
                 "Between nodes: Gbit/s of one rail in one direction; default: as the link reports")
      ->type_name("GBIT")
      ->check(number_above_0("--link-gbit", kMostGbit, "Gbit/s"));
  app.add_flag("--failover", flags.failover,
               "Between nodes: what a lost rail had under way goes over the rank's others");
  app.add_flag("--staged", flags.staged,
               "Between nodes: rails carry pinned buffers, also where they reach the device's "
               "memory");
}

NetworkOptions network_of(const NetworkFlags& flags) {
  NetworkOptions options;
  options.provider = flags.provider;
  if (!flags.rails.empty()) options.rails = flags.rails;
  if (!flags.stall.empty()) options.stall_seconds = parse_number(flags.stall, 1, "--stall");
  options.link_gbit = flags.link_gbit;
  options.failover = flags.failover;
  options.staged = flags.staged;
  if (flags.failover && flags.rails == "1") {
    throw UsageError("--failover: expected several rails: --rails");
  }
  return options;
}

int node_size_of(const NetworkFlags& flags) {
  return flags.node_size.empty() ? 0 : parse_number(flags.node_size, 1, "--node-size");
}

void refuse_network_flags(const NetworkFlags& flags, const std::string& why) {
  refuse_given({{"--node-size", !flags.node_size.empty()},
                {"--provider", !flags.provider.empty()},
                {"--rails", !flags.rails.empty()},
                {"--stall", !flags.stall.empty()},
                {"--link-gbit", flags.link_gbit > 0},
                {"--failover", flags.failover},
                {"--staged", flags.staged}},
               why);
}

}  // namespace duet
