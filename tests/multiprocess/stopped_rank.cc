// One process of a run, for stopped_rank.sh: stopped_rank ENGINE nodes|node stopped|busy RANK. When
// all ranks have made a plan, rank RANK stops itself, or computes for a while, before its call of a
// collective. `nodes`: each rank is a node of its own. The exit code is 0 where the call ends, or
// ends with PeerFailed; stdout tells which.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "collectives/own_engines.h"
#include "core/clock.h"
#include "core/error.h"
#include "team/launch.h"
#include "team/processes.h"

namespace {

using namespace duet;

constexpr double kDeadlineSeconds = 30;
constexpr double kHeartbeatSeconds = 2;
constexpr double kBusySeconds = 3 * kHeartbeatSeconds;

struct Case {
  std::string engine;
  bool nodes = false, stopped = false;
  int rank = 0;
};

void be_late(const Case& which) {
  if (which.stopped) {
    std::raise(SIGSTOP);
    return;
  }
  const double end = steady_now() + kBusySeconds;
  while (steady_now() < end) continue;
}

void call(Team& team, CollectiveSession& session, const Case& which) {
  Collective one;
  one.kind = CollectiveKind::all_gather;
  one.count = 1 << 20;
  team.each([&](Rank& rank) {
    const Buffer send = rank.device.allocate(send_bytes(one, rank.index, rank.size));
    const Buffer recv = rank.device.allocate(recv_bytes(one, rank.index, rank.size));
    const auto plan = session.plan(rank, one, {send.span(), recv.span()});
    const auto stream = rank.device.make_stream();
    team.barrier("all ranks to have planned");
    if (rank.index == which.rank) be_late(which);
    plan->enqueue(*stream);
    stream->synchronize(kDeadlineSeconds);  // a failure ends the waits
    plan->enqueue(*stream);
    stream->synchronize(kDeadlineSeconds);
  });
}

int run(const Case& which) {
  Launch launch = find_launch();
  launch.heartbeat_timeout_seconds = kHeartbeatSeconds;
  Processes processes(launch, kDeadlineSeconds);
  const auto machine = open_machine("host");
  Team team(*machine, {}, &processes);
  if (which.nodes) {
    NetworkOptions network;
    network.provider = "tcp;ofi_rxm";
    network.stall_seconds = 2 * kDeadlineSeconds;  // no rail tells before
    team.set_network(network);
    team.set_node_size(1);
  }
  const auto engine = which.engine == "kernel" ? make_kernel_collectives() : make_dma_collectives();
  const auto session = engine->open(team);
  try {
    call(team, *session, which);
    std::puts("the call has ended");
  } catch (const PeerFailed& error) {
    std::puts(error.what());
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> all(arguments + 1, arguments + count);
  if (all.size() != 4) {
    std::fputs("expected ENGINE nodes|node stopped|busy RANK\n", stderr);
    return 2;
  }
  try {
    return run({all[0], all[1] == "nodes", all[2] == "stopped", std::stoi(all[3])});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
