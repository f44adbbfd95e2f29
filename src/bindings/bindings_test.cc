// The C interface as C++ calls it; c_program.c is one in C.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "bindings/bindings_fixture.h"

namespace {

constexpr std::uint64_t kCount = 1000;

// Gathers the ranks' own numbers once, and says whether all have come.
void gather(duet_rank* rank, int index, int ranks) {
  const duet_collective one = all_gather_of(kCount);
  std::uint64_t send_bytes = 0, recv_bytes = 0;
  ASSERT_EQ(duet_sizes(&one, index, ranks, &send_bytes, &recv_bytes), DUET_OK);
  duet_memory *send = nullptr, *recv = nullptr;
  ASSERT_EQ(duet_allocate(rank, send_bytes, &send), DUET_OK) << duet_last_error();
  ASSERT_EQ(duet_allocate(rank, recv_bytes, &recv), DUET_OK) << duet_last_error();
  duet_call* call = nullptr;
  ASSERT_EQ(duet_plan(rank, &one, duet_memory_data(send), duet_memory_bytes(send),
                      duet_memory_data(recv), duet_memory_bytes(recv), &call),
            DUET_OK)
      << duet_last_error();
  EXPECT_NE(std::string(duet_call_algorithm(call)), "");
  EXPECT_EQ(duet_call_takes_buffers(call), 0);  // peers reach into them

  std::vector<std::int32_t> mine(kCount);
  std::iota(mine.begin(), mine.end(), 1000000 * index);
  ASSERT_EQ(duet_memory_write(send, 0, mine.data(), send_bytes), DUET_OK);
  duet_stream* stream = nullptr;
  ASSERT_EQ(duet_stream_open(rank, &stream), DUET_OK);
  EXPECT_EQ(duet_enqueue_at_on(call, stream, mine.data(), mine.data(), nullptr, nullptr, nullptr),
            DUET_BAD_ARGUMENT);
  EXPECT_TRUE(says("expected a call that takes other buffers")) << duet_last_error();
  EXPECT_EQ(duet_enqueue_on(call, stream), DUET_OK) << duet_last_error();
  EXPECT_EQ(duet_stream_synchronize(stream, 30), DUET_OK) << duet_last_error();

  std::vector<std::int32_t> all(kCount * static_cast<std::uint64_t>(ranks));
  ASSERT_EQ(duet_memory_read(recv, 0, all.data(), recv_bytes), DUET_OK);
  for (int from = 0; from < ranks; ++from) {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(all[static_cast<std::uint64_t>(from) * kCount + i],
                1000000 * from + static_cast<std::int32_t>(i));
    }
  }
  EXPECT_EQ(duet_retire(rank, call), DUET_OK) << duet_last_error();
  duet_stream_close(stream);
  duet_memory_free(send);
  duet_memory_free(recv);
}

TEST(CInterface, GathersByAThreadForEachRank) {
  duet_comm* comm = open_on("host:3");
  with_ranks(comm, [&](duet_rank* rank, int index) { gather(rank, index, 3); });
  EXPECT_EQ(duet_comm_close(comm), DUET_OK) << duet_last_error();
}

// What another call of the same plan finds elsewhere, in the program's own memory.
TEST(CInterface, ACallOfOneRankTakesOtherBuffers) {
  duet_comm* comm = open_on("host:1", "dma");
  duet_rank* rank = rank_of(comm, 0);
  const duet_collective one = all_gather_of(kCount);
  duet_memory *send = nullptr, *recv = nullptr;
  ASSERT_EQ(duet_allocate(rank, kCount * 4, &send), DUET_OK);
  ASSERT_EQ(duet_allocate(rank, kCount * 4, &recv), DUET_OK);
  duet_call* call = nullptr;
  ASSERT_EQ(duet_plan(rank, &one, duet_memory_data(send), kCount * 4, duet_memory_data(recv),
                      kCount * 4, &call),
            DUET_OK)
      << duet_last_error();
  EXPECT_EQ(duet_call_takes_buffers(call), 1);
  duet_stream* stream = nullptr;
  ASSERT_EQ(duet_stream_open(rank, &stream), DUET_OK);
  std::vector<std::int32_t> from(kCount), to(kCount), planned(kCount, 7);
  std::iota(from.begin(), from.end(), 1);
  ASSERT_EQ(duet_memory_write(recv, 0, planned.data(), kCount * 4), DUET_OK);
  EXPECT_EQ(duet_enqueue_at_on(call, stream, from.data(), to.data(), nullptr, nullptr, nullptr),
            DUET_OK)
      << duet_last_error();
  EXPECT_EQ(duet_stream_synchronize(stream, 30), DUET_OK);
  EXPECT_EQ(to, from);
  ASSERT_EQ(duet_memory_read(recv, 0, to.data(), kCount * 4), DUET_OK);
  EXPECT_EQ(to, planned);

  EXPECT_EQ(duet_enqueue_at_on(call, stream, from.data(), nullptr, nullptr, nullptr, nullptr),
            DUET_BAD_ARGUMENT);
  EXPECT_TRUE(says("recv: expected a buffer of")) << duet_last_error();
  ASSERT_EQ(duet_memory_write(send, 0, from.data(), kCount * 4), DUET_OK);
  EXPECT_EQ(duet_enqueue_on(call, stream), DUET_OK) << duet_last_error();
  EXPECT_EQ(duet_stream_synchronize(stream, 30), DUET_OK);
  ASSERT_EQ(duet_memory_read(recv, 0, to.data(), kCount * 4), DUET_OK);
  EXPECT_EQ(to, from);
  EXPECT_EQ(duet_retire(rank, call), DUET_OK);
  duet_stream_close(stream);
  duet_memory_free(send);
  duet_memory_free(recv);
  EXPECT_EQ(duet_comm_close(comm), DUET_OK) << duet_last_error();
}

void gather_in_each(void* ranks, duet_rank* rank, std::int32_t* done) {
  duet_rank_info info{};
  info.size = sizeof info;
  ASSERT_EQ(duet_rank_get_info(rank, &info), DUET_OK);
  gather(rank, info.index, *static_cast<int*>(ranks));
  *done = 1;
}

TEST(CInterface, EachRunsOnRealAndOnSimulatedMachines) {
  for (const char* device : {"host:2", "sim:h200-4"}) {
    duet_comm* comm = open_on(device);
    int ranks = ranks_of(comm);
    EXPECT_EQ(duet_comm_each(comm, gather_in_each, &ranks), DUET_OK) << duet_last_error();
    EXPECT_EQ(duet_comm_close(comm), DUET_OK) << duet_last_error();
  }
}

// What a program's function is asked to multiply, of all_gathers of rows.
struct AskedRows {
  std::vector<duet_rows> rows;
  bool fails = false;
};

void note_rows(void* asked, const duet_rows* rows, void*, std::int32_t* done) {
  auto& all = *static_cast<AskedRows*>(asked);
  all.rows.push_back(*rows);
  *done = all.fails ? 0 : 1;
}

// Each rank has 8 rows of 16 elements.
void gather_rows(duet_rank* rank, int index, bool fails) {
  duet_collective one = all_gather_of(8 * 16);
  one.row_columns = 16;
  one.row_ranges = 2;
  duet_memory* all = nullptr;
  ASSERT_EQ(duet_allocate(rank, 2 * 8 * 16 * 4, &all), DUET_OK) << duet_last_error();
  auto* const data = static_cast<unsigned char*>(duet_memory_data(all));
  duet_call* call = nullptr;
  ASSERT_EQ(duet_plan(rank, &one, data + index * 512, 512, data, 1024, &call), DUET_OK)
      << duet_last_error();
  duet_stream* stream = nullptr;
  ASSERT_EQ(duet_stream_open(rank, &stream), DUET_OK);
  AskedRows asked;
  asked.fails = fails;
  EXPECT_EQ(duet_enqueue_rows_on(call, stream, nullptr, &asked), DUET_BAD_ARGUMENT);
  const duet_status status = duet_enqueue_rows_on(call, stream, note_rows, &asked);
  if (fails) {  // the other rank may have failed first
    EXPECT_TRUE(status == DUET_ERROR || status == DUET_PEER_FAILED) << status;
    EXPECT_TRUE(says("the program's function failed")) << duet_last_error();
    duet_call_drop(call);
  } else {
    EXPECT_EQ(status, DUET_OK) << duet_last_error();
    EXPECT_EQ(duet_stream_synchronize(stream, 30), DUET_OK) << duet_last_error();
    std::uint64_t count = 0;
    for (const duet_rows& each : asked.rows) {
      EXPECT_EQ(each.place, data + each.first * 64);
      EXPECT_EQ(each.place_bytes, each.count * 64);
      count += each.count;
    }
    EXPECT_EQ(count, 16U);
    EXPECT_EQ(asked.rows.front().first, static_cast<std::uint64_t>(8 * index));  // the own ones
    EXPECT_EQ(duet_retire(rank, call), DUET_OK) << duet_last_error();
  }
  duet_stream_close(stream);
  duet_memory_free(all);
}

TEST(CInterface, RowsAreMultipliedByTheProgram) {
  duet_comm* comm = open_on("host:2");
  with_ranks(comm, [&](duet_rank* rank, int index) { gather_rows(rank, index, false); });
  EXPECT_EQ(duet_comm_close(comm), DUET_OK) << duet_last_error();
}

TEST(CInterface, AFunctionThatMultipliesNothingFailsTheCall) {
  duet_comm* comm = open_on("host:2");
  with_ranks(comm, [&](duet_rank* rank, int index) { gather_rows(rank, index, true); });
  duet_comm_abandon(comm);
}

// As a rank of its group, and then as one of all.
void gather_in_group(duet_groups* groups, duet_rank* rank, int index) {
  duet_rank* in_group = nullptr;
  ASSERT_EQ(duet_groups_rank(groups, rank, &in_group), DUET_OK) << duet_last_error();
  duet_rank_info info{};
  info.size = sizeof info;
  ASSERT_EQ(duet_rank_get_info(in_group, &info), DUET_OK);
  EXPECT_EQ(info.index, index / 2);
  gather(in_group, info.index, 2);
  gather(rank, index, 4);
}

constexpr std::int32_t kColumns[] = {0, 2, 1, 3};

TEST(CInterface, GroupsGatherAmongThemselves) {
  duet_comm* comm = open_on("host:4");
  duet_groups* groups = nullptr;
  ASSERT_EQ(duet_comm_divide(comm, kColumns, 2, &groups), DUET_OK) << duet_last_error();
  with_ranks(comm, [&](duet_rank* rank, int index) { gather_in_group(groups, rank, index); });
  EXPECT_EQ(duet_comm_close(comm), DUET_BAD_ARGUMENT);
  duet_groups_close(groups);
  constexpr std::int32_t twice[] = {0, 1, 1, 2};
  EXPECT_EQ(duet_comm_divide(comm, twice, 2, &groups), DUET_BAD_ARGUMENT);
  EXPECT_EQ(duet_comm_divide(comm, twice, 3, &groups), DUET_BAD_ARGUMENT);
  with_ranks(comm, [&](duet_rank* rank, int index) { gather(rank, index, 4); });
  EXPECT_EQ(duet_comm_close(comm), DUET_OK) << duet_last_error();
}

TEST(CInterface, GroupsOfASimulatedMachineGather) {
  duet_comm* comm = open_on("sim:h200-4");
  duet_groups* groups = nullptr;
  ASSERT_EQ(duet_comm_divide(comm, kColumns, 2, &groups), DUET_OK) << duet_last_error();
  const auto gather_in_each_group = [](void* divided, duet_rank* rank, std::int32_t* done) {
    duet_rank_info info{};
    info.size = sizeof info;
    ASSERT_EQ(duet_rank_get_info(rank, &info), DUET_OK);
    gather_in_group(static_cast<duet_groups*>(divided), rank, info.index);
    *done = 1;
  };
  EXPECT_EQ(duet_comm_each(comm, gather_in_each_group, groups), DUET_OK) << duet_last_error();
  duet_groups_close(groups);
  EXPECT_EQ(duet_comm_close(comm), DUET_OK);
}

TEST(CInterface, AFunctionThatDoesNotSayThatItIsDoneHasFailed) {
  for (const char* device : {"host:2", "sim:h200-4"}) {
    duet_comm* comm = open_on(device);
    const auto fails = [](void*, duet_rank*, std::int32_t*) {};
    EXPECT_EQ(duet_comm_each(comm, fails, nullptr), DUET_ERROR);
    EXPECT_TRUE(says("its function failed")) << duet_last_error();
    int ranks = ranks_of(comm);
    EXPECT_EQ(duet_comm_each(comm, gather_in_each, &ranks), DUET_OK) << duet_last_error();
    EXPECT_EQ(duet_comm_close(comm), DUET_OK);
  }
}

TEST(CInterface, ARankOfASimulatedMachineStandsInEachAlone) {
  duet_comm* comm = open_on("sim:h200-4");
  duet_rank* rank = nullptr;
  EXPECT_EQ(duet_comm_rank(comm, 0, &rank), DUET_UNAVAILABLE);
  EXPECT_TRUE(says("duet_comm_each()")) << duet_last_error();
  EXPECT_EQ(duet_comm_close(comm), DUET_OK);
}

TEST(CInterface, RanksThatDisagreeAllHearOfItAndGoOn) {
  duet_comm* comm = open_on("host:2");
  with_ranks(comm, [&](duet_rank* rank, int index) {
    const duet_collective one = all_gather_of(index == 0 ? 8 : 16);
    duet_memory *send = nullptr, *recv = nullptr;
    ASSERT_EQ(duet_allocate(rank, 64, &send), DUET_OK);
    ASSERT_EQ(duet_allocate(rank, 128, &recv), DUET_OK);
    duet_call* call = nullptr;
    EXPECT_EQ(duet_plan(rank, &one, duet_memory_data(send), duet_memory_bytes(send),
                        duet_memory_data(recv), duet_memory_bytes(recv), &call),
              DUET_BAD_ARGUMENT);
    EXPECT_EQ(call, nullptr);
    duet_memory_free(send);
    duet_memory_free(recv);
    gather(rank, index, 2);
  });
  EXPECT_EQ(duet_comm_close(comm), DUET_OK);
}

TEST(CInterface, AfterATimeoutOthersCanBePlanned) {
  duet_comm* comm = open_on("host:2");
  EXPECT_EQ(duet_barrier(rank_of(comm, 0), "a rank that does not come", 0.2), DUET_TIMEOUT);
  EXPECT_TRUE(says("a rank that does not come")) << duet_last_error();
  EXPECT_EQ(duet_barrier(rank_of(comm, 1), "one that has gone", 60), DUET_PEER_FAILED);
  EXPECT_TRUE(says("a rank that does not come")) << duet_last_error();
  with_ranks(comm, [&](duet_rank* rank, int index) { gather(rank, index, 2); });
  EXPECT_EQ(duet_comm_close(comm), DUET_OK);
}

TEST(CInterface, AFailureIsToldUntilAllRanksHaveHeard) {
  duet_comm* comm = open_on("host:2");
  const auto failure = [&] {
    duet_text* why = nullptr;
    EXPECT_EQ(duet_comm_failure(comm, &why), DUET_OK);
    const std::string text = duet_text_data(why);
    duet_text_free(why);
    return text;
  };
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(duet_barrier(rank_of(comm, 0), "one that does not come", 0.1), DUET_TIMEOUT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the next each() has begun
  EXPECT_NE(failure(), "");
  EXPECT_EQ(duet_barrier(rank_of(comm, 1), "one that has gone", 60), DUET_PEER_FAILED);
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(duet_comm_close(comm), DUET_OK);
  duet_text* why = nullptr;
  EXPECT_EQ(duet_comm_failure(comm, &why), DUET_BAD_ARGUMENT);
  EXPECT_EQ(duet_comm_interrupt(comm), DUET_BAD_ARGUMENT);
}

TEST(CInterface, ARanksWrongArgumentIsToldToAll) {
  duet_comm* comm = open_on("host:2");
  with_ranks(comm, [&](duet_rank* rank, int index) {
    duet_call* call = nullptr;
    const duet_collective one = all_gather_of(4);
    duet_memory* memory = nullptr;
    ASSERT_EQ(duet_allocate(rank, 64, &memory), DUET_OK);
    void* const data = duet_memory_data(memory);
    EXPECT_EQ(duet_plan(rank, index == 0 ? nullptr : &one, data, 16, data, 32, &call),
              DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_plan(rank, &one, data, 16, data, index == 0 ? 32 : 31, &call),
              DUET_BAD_ARGUMENT);
    EXPECT_TRUE(says("31 bytes: expected 32")) << duet_last_error();
    duet_memory_free(memory);
    gather(rank, index, 2);
  });
  EXPECT_EQ(duet_comm_close(comm), DUET_OK);
}

TEST(CInterface, WhatWaitsIsInterrupted) {
  duet_comm* comm = open_on("host:2");
  std::thread interrupter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(duet_comm_interrupt(comm), DUET_OK);
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(duet_barrier(rank_of(comm, 0), "a rank that does not come", 60), DUET_INTERRUPTED);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  interrupter.join();
  EXPECT_EQ(duet_barrier(rank_of(comm, 1), "one that has gone", 60), DUET_PEER_FAILED);
  with_ranks(comm, [&](duet_rank* rank, int index) { gather(rank, index, 2); });
  EXPECT_EQ(duet_comm_close(comm), DUET_OK);
}

// Ranks that wait for each other again and again, until that fails. On real devices the error is
// another one where no rank is in a function of duet.h at the time.
void meet_until_it_fails(void* seen, duet_rank* rank, std::int32_t*) {
  duet_status status = DUET_OK;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (status == DUET_OK && std::chrono::steady_clock::now() < end) {
    status = duet_barrier(rank, "the others", 60);
  }
  *static_cast<std::atomic<duet_status>*>(seen) = status;
}

TEST(CInterface, RanksThatMeetInEachAreInterrupted) {
  for (const char* device : {"host:2", "sim:h200-4"}) {
    SCOPED_TRACE(device);
    duet_comm* comm = open_on(device);
    std::atomic<duet_status> seen{DUET_OK};
    std::thread interrupter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      EXPECT_EQ(duet_comm_interrupt(comm), DUET_OK);
    });
    const duet_status ended = duet_comm_each(comm, meet_until_it_fails, &seen);
    EXPECT_TRUE(ended == DUET_INTERRUPTED || (ended == DUET_ERROR && device[0] == 'h')) << ended;
    EXPECT_TRUE(seen == DUET_INTERRUPTED || seen == DUET_PEER_FAILED) << seen;
    interrupter.join();
    int ranks = ranks_of(comm);
    EXPECT_EQ(duet_comm_each(comm, gather_in_each, &ranks), DUET_OK) << duet_last_error();
    EXPECT_EQ(duet_comm_close(comm), DUET_OK) << duet_last_error();
  }
}

// No each() runs meanwhile: the next is meant.
TEST(CInterface, AnInterruptionBeforeEachEndsIt) {
  duet_comm* comm = open_on("sim:h200-4");
  int ranks = ranks_of(comm);
  EXPECT_EQ(duet_comm_interrupt(comm), DUET_OK);
  EXPECT_EQ(duet_comm_each(comm, gather_in_each, &ranks), DUET_INTERRUPTED);
  EXPECT_EQ(duet_comm_each(comm, gather_in_each, &ranks), DUET_OK) << duet_last_error();
  EXPECT_EQ(duet_comm_close(comm), DUET_OK);
}

TEST(CInterface, ACommunicatorWithPartsStaysOpen) {
  duet_comm* comm = open_on("host:1");
  duet_memory* memory = nullptr;
  ASSERT_EQ(duet_allocate(rank_of(comm, 0), 64, &memory), DUET_OK);
  EXPECT_EQ(duet_comm_close(comm), DUET_BAD_ARGUMENT);
  EXPECT_TRUE(says("1 exist")) << duet_last_error();
  duet_memory_free(memory);
  EXPECT_EQ(duet_comm_close(comm), DUET_OK);
}

TEST(CInterface, ErrorsNameWhatWasExpected) {
  duet_comm_options options{};
  options.size = sizeof options;
  options.device = "hots:2";
  duet_comm* comm = nullptr;
  EXPECT_EQ(duet_comm_open(&options, &comm), DUET_USAGE_ERROR);
  EXPECT_TRUE(says("hots")) << duet_last_error();
  EXPECT_EQ(comm, nullptr);
  EXPECT_EQ(duet_comm_open(nullptr, nullptr), DUET_BAD_ARGUMENT);
  EXPECT_EQ(duet_enqueue(nullptr, nullptr), DUET_BAD_ARGUMENT);
  EXPECT_EQ(duet_call_takes_buffers(nullptr), 0);
  duet_collective one = all_gather_of(1);
  one.kind = 99;
  EXPECT_EQ(duet_sizes(&one, 0, 2, nullptr, nullptr), DUET_BAD_ARGUMENT);
  EXPECT_TRUE(says("kind 99: expected 0 to 9")) << duet_last_error();
  EXPECT_STREQ(duet_status_name(DUET_PEER_FAILED), "peer failed");
  EXPECT_STREQ(duet_status_name(-1), "unknown status");
}

// A program that was compiled with a later duet.h, and one with an earlier.
TEST(CInterface, StructsGrow) {
  struct Later {
    duet_collective known;
    std::uint64_t further;
  } later{all_gather_of(8), 0};
  later.known.size = sizeof later;
  std::uint64_t bytes = 0;
  EXPECT_EQ(duet_sizes(&later.known, 0, 2, nullptr, &bytes), DUET_OK) << duet_last_error();
  EXPECT_EQ(bytes, 64U);
  later.further = 1;
  EXPECT_EQ(duet_sizes(&later.known, 0, 2, nullptr, &bytes), DUET_UNAVAILABLE);

  for (std::uint64_t size = 0; size <= 2 * sizeof(duet_collective); ++size) {
    std::vector<unsigned char> room(2 * sizeof(duet_collective) + 1);
    duet_collective one = all_gather_of(8);
    one.size = size;
    std::memcpy(room.data(), &one, sizeof one);
    duet_collective placed;
    const auto* const given = reinterpret_cast<const duet_collective*>(room.data());
    std::memcpy(&placed, given, sizeof placed);
    const duet_status status = duet_sizes(given, 0, 2, nullptr, &bytes);
    EXPECT_EQ(status == DUET_OK, size >= sizeof size) << size;
    EXPECT_EQ(status == DUET_BAD_ARGUMENT, size < sizeof size) << size;
  }
}

// As many bytes as the caller's struct has are written.
TEST(CInterface, ShortInfosAreFilledAsFarAsTheyGo) {
  duet_comm* comm = open_on("host:2");
  duet_comm_info info{};
  info.local_ranks = info.first_local = 77;
  info.size = offsetof(duet_comm_info, local_ranks);
  EXPECT_EQ(duet_comm_get_info(comm, &info), DUET_OK);
  EXPECT_EQ(info.ranks, 2);
  EXPECT_EQ(info.local_ranks, 77);
  EXPECT_EQ(duet_comm_close(comm), DUET_OK);
}

TEST(CInterface, BuffersMayLieAnywhereInDuetsMemory) {
  duet_comm* comm = open_on("host:2");
  with_ranks(comm, [&](duet_rank* rank, int index) {
    const duet_collective one = all_gather_of(4);
    duet_memory* memory = nullptr;
    ASSERT_EQ(duet_allocate(rank, 256, &memory), DUET_OK);
    char* const base = static_cast<char*>(duet_memory_data(memory));
    duet_call* call = nullptr;
    ASSERT_EQ(duet_plan(rank, &one, base + 16, 16, base + 64, 32, &call), DUET_OK)
        << duet_last_error();
    const std::int32_t mine[4] = {index, index, index, index};
    ASSERT_EQ(duet_memory_write(memory, 16, mine, sizeof mine), DUET_OK);
    duet_stream* stream = nullptr;
    ASSERT_EQ(duet_stream_open(rank, &stream), DUET_OK);
    EXPECT_EQ(duet_enqueue_on(call, stream), DUET_OK);
    EXPECT_EQ(duet_stream_synchronize(stream, 0), DUET_OK);
    std::int32_t all[8];
    ASSERT_EQ(duet_memory_read(memory, 64, all, sizeof all), DUET_OK);
    EXPECT_EQ(all[3], 0);
    EXPECT_EQ(all[4], 1);
    EXPECT_EQ(duet_memory_read(memory, 250, all, sizeof all), DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_retire(rank, call), DUET_OK);
    duet_stream_close(stream);
    duet_memory_free(memory);
  });
  EXPECT_EQ(duet_comm_close(comm), DUET_OK);
}

}  // namespace
