// Several processes' ends in one process, each on a thread of its own.
#include "team/processes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <thread>

#include "core/error.h"
#include "team/launch.h"
#include "team/team.h"

namespace duet {
namespace {

// A port that was free a moment ago.
int free_port() { return Socket::listen(0).port(); }

// Runs fn(processes) as `size` processes; rethrows nothing: fn asserts.
void run_processes(int size, const std::function<void(Processes&)>& fn) {
  const int port = free_port();
  std::vector<std::thread> threads;
  for (int index = 0; index < size; ++index) {
    threads.emplace_back([=, &fn] {
      Launch launch;
      launch.index = index;
      launch.size = size;
      launch.addresses = {"127.0.0.1"};
      launch.port = port;
      Processes processes(launch, 20);
      fn(processes);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// What a launcher sets; nothing of it is left behind.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) {
      setenv(name.c_str(), value.c_str(), 1);
      names_.push_back(name);
    }
  }
  ~Environment() {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }

 private:
  std::vector<std::string> names_;
};

// A port that outgoing connections are given as well: Linux gives them the even ones.
int even_port() {
  for (int port = 40000;; port += 2) {
    try {
      return Socket::listen(port).port();
    } catch (const UsageError&) {
    }
  }
}

// Without a listener, a connection that is given the very port it asks for reaches itself.
TEST(Socket, IsNeverItsOwnPeer) {
  const int port = even_port();
  std::string reason;
  for (int attempt = 0; attempt < 60000; ++attempt) {
    ASSERT_FALSE(Socket::connect("127.0.0.1", port, reason).open()) << "attempt " << attempt;
  }
  EXPECT_NO_THROW(Socket::listen(port));
}

TEST(LaunchedBy, CountsSrunsTasksHoweverTheyAreConnected) {
  const std::map<std::string, std::string> task{
      {"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "2"}};
  {
    const Environment plain(task);
    EXPECT_EQ(launched_by().variable, "SLURM_NTASKS");
    EXPECT_EQ(launched_by().size, 2);
    const Environment by_pmix(std::map<std::string, std::string>{{"PMIX_RANK", "1"}});
    EXPECT_EQ(launched_by().variable, "SLURM_NTASKS");
    EXPECT_EQ(launched_by().size, 2);
  }
  const Environment batch(
      std::map<std::string, std::string>{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}});
  EXPECT_EQ(launched_by().variable, "");
}

TEST(Processes, AloneNeedsNoOthers) {
  Processes processes{Launch{}};
  EXPECT_EQ(processes.gather_all("mine", "nobody", 1), std::vector<std::string>{"mine"});
  std::string told;
  const int number = processes.on_failure([&](const std::string& reason) { told = reason; });
  processes.fail("a reason");
  EXPECT_NE(told.find("a reason"), std::string::npos);
  processes.forget(number);
}

TEST(Processes, GatherInOrder) {
  run_processes(4, [](Processes& processes) {
    for (int round = 0; round < 50; ++round) {
      const auto all = processes.gather_all(std::to_string(100 * round + processes.index()),
                                            "a test's gathering", 20);
      ASSERT_EQ(all.size(), 4u);
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(all[static_cast<std::size_t>(i)], std::to_string(100 * round + i));
      }
    }
  });
}

TEST(Processes, AFailureIsToldAndForgottenInTheNextEpoch) {
  run_processes(3, [](Processes& processes) {
    std::atomic<int> told{0};
    const int number = processes.on_failure([&](const std::string&) { ++told; });
    if (processes.index() == 1) processes.fail("no luck");
    try {
      processes.barrier("what never comes", 20);
      // All had come to the first before they heard of the failure: then it was well.
      processes.barrier("what cannot come", 20);
      FAIL() << "the failure was not told";
    } catch (const PeerFailed& error) {
      EXPECT_NE(std::string(error.what()).find("process 1 (pid "), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("failed: no luck while"), std::string::npos);
    }
    processes.begin_epoch();
    processes.barrier("the next epoch", 20);
    EXPECT_GE(told, 1);
    processes.forget(number);
  });
}

TEST(Processes, TeamsOfUnequalMachinesMeet) {
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

TEST(Processes, ASimulatedMachineStaysAlone) {
  run_processes(2, [](Processes& processes) {
    const auto machine = open_machine("sim:mi300x-8");
    EXPECT_THROW(Team(*machine, {}, &processes), UsageError);
  });
}

}  // namespace
}  // namespace duet
