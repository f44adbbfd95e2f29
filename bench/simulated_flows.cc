// Measures the simulator's own time against the number of flows. The flows connect random pairs of
// ports behind a switch, have equal or random sizes, and start at once. bench_simulated_flows
// [MOST]
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "device/sim/clock.h"

namespace {

using namespace duet::sim;

double seconds_to_simulate(int flows, int ports, bool equal) {
  const auto begin = std::chrono::steady_clock::now();
  VirtualClock clock;
  std::vector<int> out, in;
  for (int i = 0; i < ports; ++i) out.push_back(clock.add_resource(50e9));
  for (int i = 0; i < ports; ++i) in.push_back(clock.add_resource(50e9));
  int ended = 0;
  for (int i = 0; i < flows; ++i) {
    const std::size_t from = static_cast<std::size_t>(i % ports);
    const std::size_t to = static_cast<std::size_t>((i / ports + i + 1) % ports);
    Flow flow;
    flow.amount = equal ? 1e6 : 1e6 + 1e3 * (i * 7919 % 1000);
    flow.uses = {{out[from], 1}, {in[to], 1}};
    clock.start(std::move(flow), [&ended] { ++ended; });
  }
  while (clock.step()) {
  }
  if (ended != flows) std::exit(1);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  const int most = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
  fmt::print("{:>8} {:>6} {:>12} {:>12}\n", "flows", "ports", "equal us", "random us");
  fmt::print("{:>8} {:>6} {:>12} {:>12}\n", "", "", "a flow", "a flow");
  for (int flows = 1 << 10; flows <= most; flows *= 4) {
    const int ports = 1 << ((31 - __builtin_clz(static_cast<unsigned>(flows))) / 2);
    const double equal = seconds_to_simulate(flows, ports, true);
    const double random = seconds_to_simulate(flows, ports, false);
    fmt::print("{:>8} {:>6} {:>12.3f} {:>12.3f}\n", flows, ports, 1e6 * equal / flows,
               1e6 * random / flows);
  }
}
