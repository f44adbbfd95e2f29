// One process of a run, for stopped_rank.sh, each a rank on a node of its own. The last one stops
// itself before its call of a collective, when all have made its plan. The others must get
// PeerFailed: the exit code is then 0, and the error on stdout.
#include <csignal>
#include <cstdio>

#include "collectives/peer/engine.h"
#include "core/error.h"
#include "team/launch.h"
#include "team/processes.h"

namespace {

using namespace duet;

constexpr double kDeadlineSeconds = 30;

void call(Team& team, CollectiveSession& session) {
  Collective one;
  one.kind = CollectiveKind::all_gather;
  one.count = 1 << 20;
  team.each([&](Rank& rank) {
    const Buffer send = rank.device.allocate(send_bytes(one, rank.index, rank.size));
    const Buffer recv = rank.device.allocate(recv_bytes(one, rank.index, rank.size));
    const auto plan = session.plan(rank, one, {send.span(), recv.span()});
    const auto stream = rank.device.make_stream();
    team.barrier("all ranks to have planned");
    if (rank.index == rank.size - 1) std::raise(SIGSTOP);
    plan->enqueue(*stream);
    stream->synchronize(kDeadlineSeconds);  // a failure ends the waits
    plan->enqueue(*stream);
    throw Error("the call has ended without the stopped rank");
  });
}

int run() {
  Launch launch = find_launch();
  launch.heartbeat_timeout_seconds = 2;
  Processes processes(launch, kDeadlineSeconds);
  const auto machine = open_machine("host");
  Team team(*machine, {}, &processes);
  NetworkOptions network;
  network.provider = "tcp;ofi_rxm";
  network.stall_seconds = 2 * kDeadlineSeconds;  // no rail tells before
  team.set_network(network);
  team.set_node_size(1);
  const auto session = make_dma_collectives()->open(team);
  try {
    call(team, *session);
  } catch (const PeerFailed& error) {
    std::printf("%s\n", error.what());
  }
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
