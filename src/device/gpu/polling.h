#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/error.h"

namespace duet::gpu {

// Waits with a deadline, which the vendors' own blocking calls do not have: calls ready() until it
// returns true. It polls without pause for the first 2 ms, because most waits are short and a sleep
// takes about 50 us. After that it sleeps between polls, so that other threads can use the core.
// Throws Timeout with `what` in its message.
template <typename Ready>
void wait_until(const std::string& what, double deadline_seconds, Ready ready) {
  constexpr std::chrono::milliseconds spinning{2};
  constexpr std::chrono::microseconds pause{50};
  const auto begin = SteadyClock::now();
  while (!ready()) {
    const auto waited = SteadyClock::now() - begin;
    if (std::chrono::duration<double>(waited).count() > deadline_seconds) {
      throw Timeout(fmt::format("{} was not done after {} s", what, deadline_seconds));
    }
    if (waited < spinning) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(pause);
    }
  }
}

}  // namespace duet::gpu
