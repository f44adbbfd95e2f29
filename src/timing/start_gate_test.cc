#include "timing/start_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <thread>

#include "device/machine.h"
#include "team/processes_fixture.h"

namespace duet {
namespace {

constexpr double kDeadline = 20;

std::exception_ptr error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

// A rank that returned before the gate opens could call hold() with the number of the old round.
// Its stream would then not be held.
TEST(StartGate, NoRankGoesOnBeforeItIsOpen) {
  const auto machine = open_machine("host:2");
  Team team(*machine);
  StartGate gate(team);
  std::atomic<bool> open{false};
  team.each([&](Rank& rank) {
    const auto stream = rank.device.make_stream();
    gate.hold(rank, *stream, kDeadline);
    gate.release(rank, kDeadline, [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      open = true;
    });
    EXPECT_TRUE(open);
    stream->synchronize(kDeadline);
  });
}

// Only calls that enqueue have the deadline of hold(), not who waits for other ranks.
TEST(StartGate, AFastRankWaitsForASlowOne) {
  const auto machine = open_machine("host:2");
  Team team(*machine);
  StartGate gate(team);
  team.each([&](Rank& rank) {
    const auto stream = rank.device.make_stream();
    if (rank.index == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    gate.hold(rank, *stream, 1);
    gate.release(rank, kDeadline);
    stream->synchronize(kDeadline);
  });
}

// What the error of the gate says, if a rank's calls find a queue full for which another process's
// closed gate is to blame.
TEST(StartGate, AFullQueueOpensTheGatesOfAllProcesses) {
  std::promise<void> ran;
  const std::shared_future<void> second_runs = ran.get_future().share();
  run_processes(2, [&](Processes& processes) {
    const auto machine = open_machine("host:1:queue=1");
    Team team(*machine, {}, &processes);
    StartGate gate(team);
    std::string said;
    try {
      team.each([&](Rank& rank) {
        const auto stream = rank.device.make_stream();
        const Buffer from = rank.device.allocate(8), to = rank.device.allocate(8);
        team.barrier("both ranks to start", kDeadline);
        gate.hold(rank, *stream, rank.index == 0 ? 0.2 : kDeadline);
        if (rank.index == 1) stream->run({"second", {}, [&] { ran.set_value(); }});
        if (rank.index == 0) {
          stream->run({"waits for it", {}, [&] {
                         second_runs.wait_for(std::chrono::duration<double>(kDeadline));
                       }});
        }
        for (int copies = 0; rank.index == 0 && copies < 2; ++copies) {
          stream->copy({to.span(), from.span(), Executor::dma, {}});
        }
        // The failure ends this call, perhaps before it has opened the gate. A stream's destructor
        // would then discard "second".
        const auto error = error_of([&] { gate.release(rank, kDeadline); });
        stream->synchronize(kDeadline);
        if (error != nullptr) std::rethrow_exception(error);
      });
    } catch (const std::exception& error) {
      said = error.what();
    }
    EXPECT_NE(said.find("calls of rank 0 that should only enqueue blocked behind it for 0.2 s"),
              said.npos)
        << said;
    EXPECT_NE(said.find("the launch queue of host:0"), said.npos) << said;
  });
}

}  // namespace
}  // namespace duet
