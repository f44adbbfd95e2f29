// Tokens and their experts by the C interface.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "bindings/bindings_fixture.h"

namespace {

constexpr std::int64_t kTokens = 3, kHidden = 8;  // of a rank; elements of a row

duet_exchange_options two_experts_of(int ranks) {
  duet_exchange_options options{};
  options.size = sizeof options;
  options.tokens = kTokens;
  options.hidden = kHidden;
  options.experts = 2 * ranks;
  options.chosen = 2;
  return options;
}

duet_exchange_info info_of(duet_exchange* exchange) {
  duet_exchange_info info{};
  info.size = sizeof info;
  EXPECT_EQ(duet_exchange_get_info(exchange, &info), DUET_OK) << duet_last_error();
  return info;
}

template <typename Value>
void write(duet_memory* memory, const std::vector<Value>& values) {
  ASSERT_EQ(duet_memory_bytes(memory), values.size() * sizeof(Value));
  ASSERT_EQ(duet_memory_write(memory, 0, values.data(), values.size() * sizeof(Value)), DUET_OK);
}

template <typename Value>
std::vector<Value> read(duet_memory* memory, std::size_t count) {
  std::vector<Value> values(count);
  EXPECT_EQ(duet_memory_read(memory, 0, values.data(), count * sizeof(Value)), DUET_OK);
  return values;
}

std::int32_t bits_of(float weight) {
  std::int32_t bits = 0;
  std::memcpy(&bits, &weight, sizeof bits);
  return bits;
}

// Every token chooses the first expert and the last one, which return rows as they are; the last
// token of each rank is left out.
void exchange_tokens(void* ranks_of_all, duet_rank* rank, std::int32_t* done) {
  const int ranks = *static_cast<int*>(ranks_of_all);
  duet_rank_info own{};
  own.size = sizeof own;
  ASSERT_EQ(duet_rank_get_info(rank, &own), DUET_OK);
  duet_exchange* exchange = nullptr;
  const duet_exchange_options options = two_experts_of(ranks);
  ASSERT_EQ(duet_exchange_open(rank, &options, &exchange), DUET_OK) << duet_last_error();
  const duet_exchange_info info = info_of(exchange);
  EXPECT_EQ(info.own_experts, 2);
  EXPECT_EQ(info.first_expert, 2 * own.index);
  EXPECT_EQ(info.most_rows, ranks * kTokens * 2);

  write(info.tokens, std::vector<float>(kTokens * kHidden, static_cast<float>(own.index + 1)));
  std::vector<std::int32_t> routing;
  for (std::int64_t t = 0; t < kTokens; ++t)
    routing.insert(routing.end(), {0, 2 * ranks - 1, bits_of(.25), bits_of(.5)});
  write(info.routing, routing);
  duet_stream* stream = nullptr;
  ASSERT_EQ(duet_stream_open(rank, &stream), DUET_OK);
  ASSERT_EQ(duet_exchange_leave_out_on(exchange, kTokens - 1, stream), DUET_OK);
  ASSERT_EQ(duet_exchange_dispatch_on(exchange, stream), DUET_OK) << duet_last_error();
  ASSERT_EQ(duet_stream_synchronize(stream, 30), DUET_OK) << duet_last_error();

  const std::int32_t arrived = ranks * (kTokens - 1);
  std::vector<std::int32_t> offsets{0, 0, 0};
  if (own.index == 0) offsets[1] = offsets[2] = arrived;
  if (own.index == ranks - 1) offsets[2] += arrived;
  EXPECT_EQ(read<std::int32_t>(info.offsets, 3), offsets);
  write(info.results, read<float>(info.rows, duet_memory_bytes(info.rows) / sizeof(float)));
  ASSERT_EQ(duet_exchange_combine_on(exchange, stream), DUET_OK) << duet_last_error();
  ASSERT_EQ(duet_stream_synchronize(stream, 30), DUET_OK) << duet_last_error();
  std::vector<float> sums(kTokens * kHidden, .75f * static_cast<float>(own.index + 1));
  std::fill(sums.end() - kHidden, sums.end(), 0.f);
  EXPECT_EQ(read<float>(info.out, kTokens * kHidden), sums);
  EXPECT_EQ(duet_exchange_retire(rank, exchange), DUET_OK) << duet_last_error();
  duet_stream_close(stream);
  *done = 1;
}

TEST(Exchanges, OfTokensOnRealAndOnSimulatedMachines) {
  for (const char* device : {"host:1", "host:3", "sim:h200-4"}) {
    duet_comm* comm = open_on(device);
    int ranks = ranks_of(comm);
    EXPECT_EQ(duet_comm_each(comm, exchange_tokens, &ranks), DUET_OK) << duet_last_error();
    EXPECT_EQ(duet_comm_close(comm), DUET_OK) << duet_last_error();
  }
}

// By ranks that stand, and logits in Duet's memory or the program's.
TEST(Exchanges, ARouterChooses) {
  duet_comm* comm = open_on("host:2");
  with_ranks(comm, [&](duet_rank* rank, int index) {
    duet_exchange* exchange = nullptr;
    const duet_exchange_options options = two_experts_of(2);
    ASSERT_EQ(duet_exchange_open(rank, &options, &exchange), DUET_OK) << duet_last_error();
    const duet_exchange_info info = info_of(exchange);
    const std::vector<float> logits{0, 5, 6, 0, 9, 0, 0, 8};
    duet_memory* memory = nullptr;
    ASSERT_EQ(duet_allocate(rank, logits.size() * sizeof(float), &memory), DUET_OK);
    write(memory, logits);
    const auto* const given =
        index == 0 ? static_cast<const float*>(duet_memory_data(memory)) : logits.data();
    duet_stream* stream = nullptr;
    ASSERT_EQ(duet_stream_open(rank, &stream), DUET_OK);
    ASSERT_EQ(duet_exchange_choose_on(exchange, given, 2, 1, stream), DUET_OK) << duet_last_error();
    ASSERT_EQ(duet_stream_synchronize(stream, 30), DUET_OK) << duet_last_error();
    const auto routing = read<std::int32_t>(info.routing, kTokens * 4);
    for (const auto& [at, expert] : {std::pair(0, 2), {1, 1}, {4, 0}, {5, 3}, {8, -1}, {9, -1}})
      EXPECT_EQ(routing[static_cast<std::size_t>(at)], expert) << at;
    EXPECT_EQ(duet_exchange_choose_on(exchange, given, 4, 1, stream), DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_exchange_choose_on(exchange, given, -1, 1, stream), DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_exchange_leave_out_on(exchange, 4, stream), DUET_BAD_ARGUMENT);
    EXPECT_TRUE(says("4 of 3 tokens: expected 0 to all")) << duet_last_error();
    EXPECT_EQ(duet_exchange_dispatch(exchange, nullptr), DUET_UNAVAILABLE) << duet_last_error();
    EXPECT_EQ(duet_exchange_retire(rank, exchange), DUET_OK) << duet_last_error();
    duet_stream_close(stream);
    duet_memory_free(memory);
  });
  EXPECT_EQ(duet_comm_close(comm), DUET_OK) << duet_last_error();
}

// All ranks are told, and go on.
TEST(Exchanges, WrongArgumentsAreNamed) {
  const std::vector<std::pair<const char*, std::function<void(duet_exchange_options&)>>> all = {
      {"expected a token", [](duet_exchange_options& o) { o.tokens = 0; }},
      {"multiple of the 2 ranks", [](duet_exchange_options& o) { o.experts = 3; }},
      {"expected DUET_FP32 or DUET_BF16", [](duet_exchange_options& o) { o.dtype = DUET_INT32; }},
      {"duet_exchange_options: a size of 0", [](duet_exchange_options& o) { o.size = 0; }},
  };
  duet_comm* comm = open_on("host:2");
  with_ranks(comm, [&](duet_rank* rank, int index) {
    duet_exchange* exchange = nullptr;
    for (const auto& [what, change] : all) {
      duet_exchange_options options = two_experts_of(2);
      if (index == 1) change(options);
      EXPECT_EQ(duet_exchange_open(rank, &options, &exchange), DUET_BAD_ARGUMENT) << what;
      EXPECT_TRUE(says(what)) << duet_last_error();
      EXPECT_EQ(exchange, nullptr);
    }
    const duet_exchange_options options = two_experts_of(2);
    EXPECT_EQ(duet_exchange_open(rank, index == 0 ? nullptr : &options, &exchange),
              DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_exchange_open(nullptr, &options, &exchange), DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_exchange_dispatch_on(nullptr, nullptr), DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_exchange_get_info(nullptr, nullptr), DUET_BAD_ARGUMENT);
    ASSERT_EQ(duet_exchange_open(rank, &options, &exchange), DUET_OK) << duet_last_error();
    EXPECT_EQ(duet_exchange_dispatch_on(exchange, nullptr), DUET_BAD_ARGUMENT);
    duet_exchange_drop(exchange);
    duet_exchange_drop(nullptr);
  });
  EXPECT_EQ(duet_comm_close(comm), DUET_OK) << duet_last_error();
}

// Of ranks of groups, each with its own experts.
TEST(Exchanges, AreOfGroups) {
  duet_comm* comm = open_on("host:4");
  const std::int32_t pairs[] = {0, 1, 2, 3};
  duet_groups* groups = nullptr;
  ASSERT_EQ(duet_comm_divide(comm, pairs, 2, &groups), DUET_OK) << duet_last_error();
  with_ranks(comm, [&](duet_rank* rank, int) {
    duet_rank* in_group = nullptr;
    ASSERT_EQ(duet_groups_rank(groups, rank, &in_group), DUET_OK);
    int ranks = 2;
    std::int32_t done = 0;
    exchange_tokens(&ranks, in_group, &done);
    EXPECT_EQ(done, 1);
  });
  duet_groups_close(groups);
  EXPECT_EQ(duet_comm_close(comm), DUET_OK) << duet_last_error();
}

}  // namespace
