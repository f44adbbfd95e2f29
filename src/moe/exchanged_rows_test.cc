// Rows move as the choices of their tokens say.
#include "moe/exchanged_rows.h"

#include <gtest/gtest.h>

#include <vector>

#include "moe/routing_fixture.h"

namespace duet {
namespace {

// Two ranks with two experts each; two tokens a rank.
TEST(Exchanges, MoveWhatTokensChoose) {
  RoutedTokens routed{shape(2, 4, 2), 2, {0, 3, 1, 0, 2, 3, 3, 0}, std::vector<float>(8, 0.5f)};
  const ExchangedRows once = exchange(ExchangeKind::per_rank, routed, one_node(2));
  EXPECT_EQ(once.hops[0].sent, (std::vector<std::uint64_t>{2, 1, 1, 2}));
  EXPECT_EQ(once.rows_of_expert[0], (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(once.multiplied[0], (std::vector<std::int64_t>{0, 1, 2, 1}));
  EXPECT_EQ(once.rows_of_expert[1], (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(once.hops[0].wire_rows_sent(0), 1u);
  EXPECT_EQ(once.hops[0].wire_rows_received(0), 1u);

  const ExchangedRows each = exchange(ExchangeKind::per_expert, routed, one_node(2));
  EXPECT_EQ(each.hops[0].sent, (std::vector<std::uint64_t>{3, 1, 1, 3}));
  std::vector<std::int64_t> tokens;
  for (const auto& arrival : each.arrivals(0)) tokens.push_back(arrival.token);
  EXPECT_EQ(tokens, (std::vector<std::int64_t>{0, 1, 1, 3}));  // by source, expert and token
  EXPECT_EQ(each.rows_of_expert, once.rows_of_expert);

  const ExchangedRows all = exchange(ExchangeKind::all_gather, routed, one_node(2));
  EXPECT_EQ(all.hops[0].sent, (std::vector<std::uint64_t>{2, 2, 2, 2}));
  EXPECT_EQ(all.multiplied[1], (std::vector<std::int64_t>{2, 0, 2, 3}));
}

// Two nodes of two ranks, an expert each; a token a rank, which chooses two.
TEST(Exchanges, GoOnceToEachNode) {
  const NodeMap nodes = nodes_of(2, 2);
  RoutedTokens routed{shape(1, 4, 2), 4, {2, 3, 0, 3, 1, 0, 2, 1}, std::vector<float>(8, 0.5f)};
  const ExchangedRows rows = exchange(ExchangeKind::per_node, routed, nodes);
  ASSERT_EQ(rows.hops.size(), 2u);
  // By columns: rank 0 sends its token to rank 2 alone, though two experts are there.
  EXPECT_EQ(rows.hops[0].sent, (std::vector<std::uint64_t>{0, 0, 1, 0,  //
                                                           0, 1, 0, 1,  //
                                                           1, 0, 0, 0,  //
                                                           0, 1, 0, 1}));
  // Within nodes: rank 2 has the token of rank 0, for both ranks of its node.
  EXPECT_EQ(rows.hops[1].sent, (std::vector<std::uint64_t>{1, 1, 0, 0,  //
                                                           1, 1, 0, 0,  //
                                                           0, 0, 1, 1,  //
                                                           0, 0, 1, 1}));
  const auto tokens = [&](int rank) {
    std::vector<std::int64_t> all;
    for (const auto& each : rows.arrivals(rank)) all.push_back(each.token);
    return all;
  };
  EXPECT_EQ(tokens(0), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(tokens(1), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(tokens(2), (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(tokens(3), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(rows.hops[1].first_expert, (std::vector<std::int64_t>{0, 0, 2, 2}));
  // Of each token's rows as many are multiplied as it has chosen experts.
  const ExchangedRows by_rank = exchange(ExchangeKind::per_rank, routed, nodes);
  EXPECT_EQ(rows.rows_of_expert, by_rank.rows_of_expert);
  EXPECT_EQ(rows.rail_rows(nodes), 1u);
  EXPECT_EQ(by_rank.rail_rows(nodes), 2u);  // both of rank 2's go by the rails of one column, ...
  EXPECT_EQ(exchange(ExchangeKind::all_gather, routed, nodes).rail_rows(nodes), 1u);
}

TEST(Exchanges, OncePerNodeNeedsConsecutiveRanks) {
  EXPECT_EQ(why_not(ExchangeKind::per_node, nodes_of(2, 2)), "");
  const NodeMap dealt_out(TeamGroups{{0, 2}, {1, 3}});
  EXPECT_EQ(why_not(ExchangeKind::per_node, dealt_out),
            "per-node: expected nodes of consecutive ranks");
  EXPECT_EQ(why_not(ExchangeKind::per_rank, dealt_out), "");
  EXPECT_EQ(why_not(ExchangeKind::per_node, NodeMap(TeamGroups{{0, 1}, {2}})),
            "node 0 has 2 ranks and node 1 has 1: expected as many on each");
}

}  // namespace
}  // namespace duet
