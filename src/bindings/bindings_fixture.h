// What tests of the C interface share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bindings/duet.h"

inline duet_collective all_gather_of(std::uint64_t count) {
  duet_collective one{};
  one.size = sizeof one;
  one.kind = DUET_ALL_GATHER;
  one.dtype = DUET_INT32;
  one.count = count;
  return one;
}

inline duet_comm* open_on(const char* device, const char* engine = nullptr) {
  duet_comm_options options{};
  options.size = sizeof options;
  options.device = device;
  options.engine = engine;
  duet_comm* comm = nullptr;
  EXPECT_EQ(duet_comm_open(&options, &comm), DUET_OK) << duet_last_error();
  return comm;
}

inline duet_rank* rank_of(duet_comm* comm, int local) {
  duet_rank* rank = nullptr;
  EXPECT_EQ(duet_comm_rank(comm, local, &rank), DUET_OK) << duet_last_error();
  return rank;
}

inline int ranks_of(duet_comm* comm) {
  duet_comm_info info{};
  info.size = sizeof info;
  EXPECT_EQ(duet_comm_get_info(comm, &info), DUET_OK);
  return info.ranks;
}

// A thread for each rank of host:N, as the threads of a program.
inline void with_ranks(duet_comm* comm, const std::function<void(duet_rank*, int)>& fn) {
  std::vector<std::thread> threads;
  for (int local = 0; local < ranks_of(comm); ++local) {
    threads.emplace_back([&, local] { fn(rank_of(comm, local), local); });
  }
  for (std::thread& each : threads) each.join();
}

inline bool says(const char* what) {
  return std::string(duet_last_error()).find(what) != std::string::npos;
}
