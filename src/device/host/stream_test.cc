#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "device/machine.h"

namespace duet {
namespace {

constexpr double kDeadline = 30;

// A stream whose operations all run at once needs no worker.
TEST(HostStream, RecordsSignalsAndWaitsNeedNoWorker) {
  const auto machine = open_machine("host");
  Device& device = machine->device(0);
  const Buffer word = device.allocate(sizeof(std::uint64_t));
  device.signal({word.span()}, 0);
  std::atomic<bool> over{false};
  std::atomic<int> running{0};
  const int workers = std::max(2, device.info().compute_units);
  std::vector<std::unique_ptr<Stream>> busy;
  for (int i = 0; i < workers; ++i) {
    busy.push_back(device.make_stream());
    busy.back()->run({"busy", {}, [&] {
                        ++running;
                        while (!over) std::this_thread::yield();
                      }});
  }
  while (running < workers) std::this_thread::yield();

  const auto sender = device.make_stream(), receiver = device.make_stream();
  const auto received = device.make_event();
  receiver->wait(Semaphore{word.span()}, 1);
  receiver->record(*received);
  EXPECT_FALSE(received->done());
  sender->signal({word.span()}, 1);
  EXPECT_TRUE(received->done());
  EXPECT_TRUE(sender->idle() && receiver->idle());

  over = true;
  for (const auto& each : busy) each->synchronize(kDeadline);
}

}  // namespace
}  // namespace duet
