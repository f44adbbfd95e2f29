// Several processes as threads of one.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/packing.h"
#include "team/launch.h"
#include "team/processes.h"
#include "team/socket.h"

namespace duet {

// A port that was free a moment ago.
inline int free_port() { return Socket::listen(0).port(); }

// Runs fn(processes) as `size` processes; rethrows nothing: fn asserts.
inline void run_processes(int size, const std::function<void(Processes&)>& fn) {
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

// Process `index` of two, with a short heartbeat timeout.
inline Launch impatient(int index, int port) {
  Launch launch;
  launch.index = index;
  launch.size = 2;
  launch.addresses = {"127.0.0.1"};
  launch.port = port;
  launch.heartbeat_timeout_seconds = 1;
  return launch;
}

// What a process brings to the first gathering of a run.
inline std::string first_part(const std::string& place) {
  return pack({"all processes of the run to come", place});
}

}  // namespace duet
