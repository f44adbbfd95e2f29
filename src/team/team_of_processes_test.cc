// Teams whose ranks are in several processes.
#include <gtest/gtest.h>

#include <atomic>

#include "core/error.h"
#include "core/message_fixture.h"
#include "team/authentication.h"
#include "team/processes_fixture.h"
#include "team/team.h"

namespace duet {
namespace {

TEST(TeamOfProcesses, RanksInDifferentCallsThrowAndGoOn) {
  run_processes(2, [](Processes& processes) {
    const auto machine = open_machine(processes.index() == 1 ? "host:2" : "host");
    Team team(*machine, {}, &processes);
    team.each([&](Rank& rank) {
      EXPECT_EQ(message_of<BadArgument>(
                    [&] { team.barrier(rank.index == 2 ? "the end" : "the begin", 20); }),
                "ranks have come to different calls: rank 0 waits for the begin, rank 2 for "
                "the end");
      EXPECT_EQ(message_of<Unavailable>([&] {
                  team.all_or_none(rank, "a step", [&] {
                    if (rank.index == 1) throw Unavailable("not here");
                    team.barrier("within the step", 20);
                  });
                }),
                rank.index == 1 ? "not here" : "rank 1: not here");
      EXPECT_EQ(team.gather(rank, "", "all to go on", 20)->size(), 3u);
    });
  });
}

TEST(TeamOfProcesses, UnequalMachinesGather) {
  run_processes(3, [](Processes& processes) {
    const auto machine = open_machine(processes.index() == 1 ? "host:3" : "host");
    Team team(*machine, {}, &processes);
    EXPECT_EQ(team.size(), 5);
    EXPECT_EQ(team.first_local(),
              std::vector<int>({0, 1, 4})[static_cast<std::size_t>(processes.index())]);
    for (int repeat = 0; repeat < 2; ++repeat) {
      team.each([&](Rank& rank) {
        const auto all = team.gather(rank, std::to_string(rank.index), "ranks", 20);
        EXPECT_EQ(*all, std::vector<std::string>({"0", "1", "2", "3", "4"}));
        team.barrier("a test's barrier", 20);
      });
      EXPECT_THROW(team.each([&](Rank& rank) {
        if (rank.index == 2) throw Mismatch("rank 2 found a wrong byte");
        team.barrier("a barrier without rank 2", 20);
      }),
                   Mismatch);
    }
  });
}

TEST(TeamOfProcesses, ASimulatedMachineStaysAlone) {
  run_processes(2, [](Processes& processes) {
    const auto machine = open_machine("sim:mi300x-8");
    EXPECT_THROW(Team(*machine, {}, &processes), UsageError);
  });
}

// The others end because of the first that is gone, and may be gone before this process waits.
TEST(TeamOfProcesses, TheFirstLossIsTheReason) {
  const Socket listener = Socket::listen(0);
  std::atomic<bool> waits{false};
  std::thread process_0([&] {
    const Socket socket = listener.accept();
    const Challenge challenge("");
    socket.send(challenge.frame());
    socket.send(challenge.welcome(socket.receive().value()));
    for (int gathers = 0; gathers < 3;) {  // both bring what process 1 brings
      const Frame frame = socket.receive().value();
      if (frame.at(0) != "gather") continue;
      socket.send({"all", frame.at(1), frame.at(2), frame.at(3), frame.at(3)});
      ++gathers;
    }
    while (!waits) std::this_thread::yield();
    socket.send({"gone", "process 2 (a test's) is gone"});
  });  // and then this one's end
  Processes processes(impatient(1, listener.port()), 20);
  const auto machine = open_machine("host");
  Team team(*machine, {}, &processes);
  std::atomic<int> losses{0};
  const int callback = team.on_failure([&](const std::string&) { ++losses; });
  EXPECT_EQ(message_of<PeerFailed>([&] {
              team.each([&](Rank&) {
                waits = true;
                while (losses < 2) std::this_thread::yield();
                team.barrier("what never comes", 20);
              });
            }),
            "process 2 (a test's) is gone while waiting for what never comes");
  team.forget(callback);
  process_0.join();
}

}  // namespace
}  // namespace duet
