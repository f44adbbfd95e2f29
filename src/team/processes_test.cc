// Most tests run the ends of several processes as threads of one; a process that is stopped is a
// real one.
#include "team/processes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <map>
#include <thread>

#include "core/error.h"
#include "core/message_fixture.h"
#include "team/agreement.h"
#include "team/authentication.h"
#include "team/launch.h"
#include "team/processes_fixture.h"

namespace duet {
namespace {

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

TEST(LaunchedBy, KnowsATaskOnEachNode) {
  std::map<std::string, std::string> task{
      {"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "2"}};
  {
    const Environment older(task);
    EXPECT_FALSE(is_one_of_each_node());
  }
  task["SLURM_STEP_NUM_TASKS"] = "2";
  for (const auto& [nodes, one_of_each] : {std::pair{"1", false}, std::pair{"2", true}}) {
    task["SLURM_STEP_NUM_NODES"] = nodes;
    const Environment step(task);
    EXPECT_EQ(is_one_of_each_node(), one_of_each) << nodes;
  }
  EXPECT_FALSE(is_one_of_each_node());
}

// Processes of torchrun have inherited the variables of what started torchrun on each node.
TEST(FindLaunch, ProcessesOfTorchrunAreNotTasksOfSrun) {
  const std::map<std::string, std::string> process{
      {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"},      {"SLURM_NTASKS", "2"},
      {"RANK", "3"},         {"WORLD_SIZE", "4"},         {"LOCAL_RANK", "1"},
      {"MASTER_PORT", "1"},  {"MASTER_ADDR", "127.0.0.1"}};
  const Environment environment(process);
  for (const char* launcher : {"", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE"}) {
    std::map<std::string, std::string> more{{"TORCHELASTIC_RUN_ID", "none"}};
    if (*launcher != '\0') more.emplace(launcher, "1");
    const Environment by_torchrun(more);
    EXPECT_EQ(launched_by().variable, "WORLD_SIZE") << launcher;
    EXPECT_EQ(launch_prefix(), "MASTER_ADDR=127.0.0.1 WORLD_SIZE=4 RANK=<0 to 3> ") << launcher;
    const Launch launch = find_launch();
    EXPECT_EQ(launch.size, 4) << launcher;
    EXPECT_EQ(launch.index, 3) << launcher;
    EXPECT_EQ(launch.local_index, 1) << launcher;
  }
}

TEST(LaunchPrefix, StartsAsManyProcessesInTheSameWay) {
  using Variables = std::map<std::string, std::string>;
  EXPECT_EQ(launch_prefix(), "");
  const auto prefix = [](const Variables& variables) {
    const Environment environment(variables);
    return launch_prefix();
  };
  EXPECT_EQ(prefix({{"OMPI_COMM_WORLD_SIZE", "2"}}), "mpirun -n 2 ");
  EXPECT_EQ(prefix({{"OMPI_COMM_WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(prefix({{"PMI_SIZE", "4"}}), "mpirun -n 4 ");
  EXPECT_EQ(prefix({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "8"}}),
            "srun -n 8 ");
  EXPECT_EQ(prefix({{"MASTER_ADDR", "node1"}, {"RANK", "1"}, {"WORLD_SIZE", "3"}}),
            "MASTER_ADDR=node1 WORLD_SIZE=3 RANK=<0 to 2> ");
}

TEST(Processes, AloneNeedsNoOthers) {
  Processes processes{Launch{}};
  EXPECT_EQ(processes.gather_all("mine", "nobody", 1), std::vector<std::string>{"mine"});
  std::string notified;
  const int number = processes.on_failure([&](const std::string& reason) { notified = reason; });
  processes.fail("a reason");
  EXPECT_TRUE(contains(notified, "a reason"));
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

TEST(Processes, AFailureIsNotifiedAndEndsWithItsEpoch) {
  run_processes(3, [](Processes& processes) {
    std::atomic<int> notified{0};
    const int number = processes.on_failure([&](const std::string&) { ++notified; });
    if (processes.index() == 1) processes.fail("no luck");
    const std::string text = message_of<PeerFailed>([&] {
      processes.barrier("what never comes", 20);
      // All had come to the first before the failure reached them: then the gather succeeded.
      processes.barrier("what cannot come", 20);
    });
    EXPECT_TRUE(contains(text, "process 1 (pid "));
    EXPECT_TRUE(contains(text, "failed: no luck while"));
    processes.begin_epoch();
    processes.barrier("the next epoch", 20);
    EXPECT_GE(notified, 1);
    processes.forget(number);
  });
}

TEST(Processes, AFailureIsNotifiedToAProcessThatHasEndedItsShare) {
  run_processes(2, [](Processes& processes) {
    std::atomic<int> notified{0};
    const int number = processes.on_failure([&](const std::string&) { ++notified; });
    if (processes.index() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      processes.fail("late");
      EXPECT_EQ(notified, 1);  // its own callbacks at once
    }
    processes.begin_epoch();
    processes.barrier("all processes to end their share", 20);
    EXPECT_GE(notified, 1);  // once more if the other has gone meanwhile
    processes.forget(number);
  });
}

TEST(Processes, AWaitInVainIsAFailureOfAll) {
  std::atomic<bool> seen{false};
  const auto until = [](const auto& holds) {
    const SteadyClock::time_point latest = SteadyClock::now() + std::chrono::seconds(20);
    while (!holds() && SteadyClock::now() < latest) std::this_thread::yield();
    EXPECT_TRUE(holds());
  };
  run_processes(2, [&](Processes& processes) {
    if (processes.index() == 0) {
      EXPECT_THROW(processes.barrier("what never comes", 0.02), Timeout);
      until([&] { return seen.load(); });
    } else {
      until([&] { return !processes.failure().empty(); });
      EXPECT_TRUE(contains(processes.failure(), "gave up after 0.02 s"));
      seen = true;
    }
  });
}

// Process 1 ends first: process 0 has the connections.
TEST(Processes, TheEndOfAProcessIsNoFailure) {
  const int port = free_port();
  std::atomic<int> notified{0};
  const auto run = [&](int index, const std::function<void()>& then) {
    Processes processes(impatient(index, port), 20);
    processes.on_failure([&](const std::string&) { ++notified; });
    processes.barrier("all to have come", 20);
    then();
  };
  std::thread other([&] { run(1, [] {}); });
  run(0, [&] { other.join(); });
  EXPECT_EQ(notified, 0);
}

// A wait of the others ends as well, and the next epoch is as if nothing had been.
TEST(Processes, WhatIsNotPossibleHereIsNoFailure) {
  run_processes(3, [](Processes& processes) {
    std::atomic<int> notified{0};
    const int number = processes.on_failure([&](const std::string&) { ++notified; });
    const auto share = [&] {
      if (processes.index() == 1) throw Unavailable("no such thing");
      processes.barrier("what never comes", 20);
      ADD_FAILURE() << "the barrier without process 1 was passed";
    };
    EXPECT_THROW(run_together(processes, share), Unavailable);
    EXPECT_EQ(processes.failure(), "");
    processes.barrier("the next epoch", 20);
    EXPECT_EQ(notified, 0);
    processes.barrier("all to have looked", 20);  // a process that has ended is none to wait for
    processes.forget(number);
  });
}

// A callback that comes when another process has already declined.
TEST(Processes, WhatIsNotPossibleHereIsNoFailureForLateCallbacksEither) {
  run_processes(2, [](Processes& processes) {
    int notified = 0, number = 0;
    const auto share = [&] {
      if (processes.index() == 1) throw Unavailable("no such thing");
      const SteadyClock::time_point latest = SteadyClock::now() + std::chrono::seconds(20);
      while (processes.failure().empty() && SteadyClock::now() < latest) std::this_thread::yield();
      EXPECT_NE(processes.failure(), "");
      number = processes.on_failure([&](const std::string&) { ++notified; });
      processes.barrier("what never comes", 20);
    };
    EXPECT_THROW(run_together(processes, share), Unavailable);
    EXPECT_EQ(notified, 0);
    if (processes.index() == 0) processes.forget(number);
    processes.barrier("all to have looked", 20);
  });
}

// The error of process 0 while the other one has connected and never answers: stopped, or its
// machine lost.
std::string beside_an_unresponsive_process(const std::function<void(Processes&)>& fn) {
  const int port = free_port();
  std::string message;
  std::thread process_0([&] {
    Processes processes(impatient(0, port), 20);
    message = message_of<PeerFailed>([&] { fn(processes); });
    EXPECT_TRUE(processes.lost_any());
  });
  std::string reason;
  Socket unresponsive;
  while (!unresponsive.open()) unresponsive = Socket::connect("127.0.0.1", port, reason);
  EXPECT_TRUE(join(unresponsive, "", {1, 2, "process 1 (a test's)"}, 10).welcome);
  unresponsive.send({"gather", "0", "0", first_part("a test's")});
  process_0.join();
  return message;
}

TEST(Processes, AProcessThatDoesNotAnswerIsGone) {
  const std::string waited = beside_an_unresponsive_process(
      [](Processes& processes) { processes.barrier("what never comes", 20); });
  EXPECT_EQ(waited,
            "process 1 (a test's) has not answered for 1 s and counts as gone while waiting for "
            "what never comes");
  const std::string failed = beside_an_unresponsive_process([](Processes& processes) {
    processes.fail("no luck");
    processes.begin_epoch();
    processes.barrier("the next epoch", 20);
  });
  EXPECT_TRUE(contains(failed, "has not answered"));
}

// Until the condition holds, 20 s at most.
template <typename Condition>
void probe_until(Processes& processes, Condition holds) {
  for (int tries = 0; tries < 20 && !holds(); ++tries) {
    processes.probe();
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  }
  EXPECT_TRUE(holds());
}

TEST(Processes, AProbeFindsWhoDoesNotAnswer) {
  beside_an_unresponsive_process(
      [](Processes& processes) { probe_until(processes, [&] { return processes.lost_any(); }); });
  const int port = free_port();
  std::thread other([&] {
    Processes processes(impatient(1, port), 20);
    std::this_thread::sleep_for(std::chrono::seconds(4));
    processes.barrier("the other", 20);
  });
  Processes processes(impatient(0, port), 20);
  for (int i = 0; i < 3; ++i) {
    processes.probe();
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  EXPECT_NO_THROW(processes.barrier("the other", 20));
  other.join();
}

TEST(Processes, AProcessThatAnswersMayTakeItsTime) {
  const int port = free_port();
  const auto run = [&](int index) {
    Processes processes(impatient(index, port), 20);
    if (index == 1) std::this_thread::sleep_for(std::chrono::seconds(4));
    processes.barrier("the slower one", 20);
  };
  std::thread other([&] { EXPECT_NO_THROW(run(1)); });
  EXPECT_NO_THROW(run(0));
  other.join();
}

TEST(Processes, AWaitWithoutADeadlineEndsWithItsEndOrALoss) {
  const int port = free_port();
  const auto run = [&](int index) {
    Processes processes(impatient(index, port), 20);
    if (index == 1) std::this_thread::sleep_for(std::chrono::seconds(3));
    processes.gather_all("", "the slower one", kNoDeadline);
    run_together(processes, [&] {
      if (index == 1) std::this_thread::sleep_for(std::chrono::seconds(3));
    });
  };
  std::thread other([&] { EXPECT_NO_THROW(run(1)); });
  EXPECT_NO_THROW(run(0));
  other.join();
  const std::string unresponsive =
      beside_an_unresponsive_process([](Processes& processes) { run_together(processes, [] {}); });
  EXPECT_TRUE(contains(unresponsive, "has not answered for 1 s"));
}

// Joins the other process's barrier after this many seconds; exits with 0 if no process was lost.
pid_t process_of_its_own(Launch launch, int seconds) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  bool well = false;
  try {
    Processes processes(launch, 20);
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    processes.barrier("the other process", 20);
    well = !processes.lost_any();
  } catch (const std::exception&) {
  }
  ::_exit(well ? 0 : 1);
}

// Both are stopped, after process 1 has sent a heartbeat to process 0 and before the answer.
TEST(Processes, AProcessThatWasStoppedWaitsForTheAnswerAnew) {
  const auto sleep = [](int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  };
  const int port = free_port();
  Launch hub = impatient(0, port), member = impatient(1, port);
  hub.heartbeat_timeout_seconds = 30;
  member.heartbeat_timeout_seconds = 2;
  const pid_t stopped = process_of_its_own(hub, 3), waiting = process_of_its_own(member, 0);
  sleep(1000);
  ::kill(stopped, SIGSTOP);
  sleep(2000);
  ::kill(waiting, SIGSTOP);
  sleep(3000);
  ::kill(waiting, SIGCONT);
  sleep(500);
  ::kill(stopped, SIGCONT);
  for (const pid_t process : {stopped, waiting}) {
    int status = 0;
    ::waitpid(process, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

TEST(Processes, InDifferentCallsThrowAndGoOn) {
  run_processes(3, [](Processes& processes) {
    EXPECT_EQ(message_of<BadArgument>([&] {
                processes.gather_all("", processes.index() == 2 ? "a letter" : "a number", 20);
              }),
              "processes have come to different calls: process 0 waits for a number, process "
              "2 for a letter");
    EXPECT_EQ(processes.gather_all("mine", "all to go on", 20).size(), 3u);
  });
}

// Runs fn in process 1 of two, beside a process 0 that answers nothing any more.
void beside_an_unresponsive_process_0(const std::function<void(Processes&)>& fn) {
  const Socket listener = Socket::listen(0);
  std::thread process_0([&] {
    const Socket socket = listener.accept();
    const Challenge challenge("");
    socket.send(challenge.frame());
    socket.send(challenge.welcome(socket.receive().value()));
    socket.receive();
    socket.send({"all", "0", "0", first_part("a test's"), first_part("mine")});
    while (socket.receive()) continue;
  });
  Processes processes(impatient(1, listener.port()), 20);
  fn(processes);
  EXPECT_TRUE(processes.lost_process_0());
  process_0.join();
}

TEST(Processes, Process0MayBeUnresponsive) {
  beside_an_unresponsive_process_0([](Processes& processes) {
    EXPECT_EQ(message_of<PeerFailed>([&] { processes.barrier("what never comes", 20); }),
              "process 0 (a test's) has not answered for 1 s while waiting for what never "
              "comes");
  });
  beside_an_unresponsive_process_0([](Processes& processes) {
    probe_until(processes, [&] { return processes.lost_process_0(); });
  });
}

TEST(Processes, AWaitEndsWhenAskedTo) {
  const int port = free_port();
  std::atomic<bool> over{false};
  std::thread other([&] {
    Processes processes(impatient(1, port), 20);
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  Processes processes(impatient(0, port), 20);
  processes.stop_when([] { return true; });
  EXPECT_THROW(processes.barrier("what never comes", 20), Interrupted);
  over = true;
  other.join();
}

}  // namespace
}  // namespace duet
