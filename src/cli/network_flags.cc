#include "cli/network_flags.h"

#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/lists.h"
#include "core/error.h"

namespace duet {

std::vector<std::string> provider_words() {
  return {"tcp;ofi_rxm", "tcp", "verbs;ofi_rxm", "shm", "efa"};
}

void add_network_flags(CLI::App& app, NetworkFlags& flags) {
  const auto add = [&](const char* flag, std::string& value, const char* type, const char* text) {
    app.add_option(flag, value, text)->type_name(type)->check(not_empty());
  };
  add("--node-size", flags.node_size, "COUNT",
      "Treat every COUNT consecutive ranks as a node (docs/nodes.md); default: ranks that can map "
      "each other's memory are a node");
  add("--provider", flags.provider, "NAME",
      "Between nodes: libfabric's provider (tcp;ofi_rxm, shm, efa); default: tcp;ofi_rxm, or "
      "copies where ranks of all nodes can map each other's memory");
  add("--rails", flags.rails, "LIST",
      "Between nodes: rails of each node by name or address, a number or all, which its ranks "
      "share; default all");
  add("--stall", flags.stall, "SECONDS",
      "Between nodes: time without a completion after which a rail is lost; default 10");
  app.add_option("--link-gbit", flags.link_gbit,
                 "Between nodes: Gbit/s of one rail in one direction; default: as the link reports")
      ->type_name("GBIT")
      ->check(number_above_0("--link-gbit", kMostGbit, "Gbit/s"));
  app.add_flag("--failover", flags.failover,
               "Between nodes: send the messages of a lost rail over the rank's others; default: "
               "the case fails");
  app.add_flag(
      "--staged", flags.staged,
      "Between nodes: stage data in pinned memory, even if rails can access device memory");
  offer(app, "--provider", provider_words());
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
