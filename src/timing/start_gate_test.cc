#include "timing/start_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "device/machine.h"

namespace duet {
namespace {

constexpr double kDeadline = 20;

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

}  // namespace
}  // namespace duet
