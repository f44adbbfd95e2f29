// How rows go to the ranks of their experts, and back: what moves, and where it stands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "moe/routing.h"
#include "team/nodes.h"

namespace duet {

enum class ExchangeKind {
  // Every rank gets the rows of all tokens, and returns partial sums of all, which are added on the
  // way (reduce_scatter). Nothing depends on the routing.
  all_gather,
  // A token's row goes once to each rank that has one of its experts, and one partial sum returns.
  per_rank,
  // A token's row goes to each of its experts, and as many return, which the token's rank adds.
  per_expert,
  // A token's row goes once to each node that has one of its experts, to the rank of its own column
  // there, which passes it on as per_rank does within the node. Partial sums are added there, and
  // one returns of each node.
  per_node,
};
const char* name(ExchangeKind kind);
ExchangeKind parse_exchange(const std::string& text);  // throws UsageError
// All that differ: per_node where there are several nodes.
std::vector<ExchangeKind> all_exchanges(int nodes);
// Why rows cannot move so: per_node needs nodes of equally many consecutive ranks, whose experts
// then are consecutive too; "" if they can.
std::string why_not(ExchangeKind kind, const NodeMap& nodes);

// A move of rows from ranks that have them to others.
struct RowHop {
  // Of a row that has come, in their order, the token; of per_expert also its expert.
  struct Arrival {
    std::int64_t token = 0;
    std::int32_t expert = -1;
  };

  std::vector<std::uint64_t> sent;  // rows from rank f to rank t at [f * ranks + t]
  // By rank. Of all_gather all are the same, and there is one.
  std::vector<std::vector<Arrival>> arrivals;
  // How a rank sorts what it sends: by `groups` groups of experts, the first of which begins with
  // the expert first_expert[rank]. A group has experts_of_group consecutive experts, which are
  // those of a rank or a node that rows are sent to, or one of them.
  int groups = 0;
  std::int64_t experts_of_group = 0;
  std::vector<std::int64_t> first_expert;

  int ranks() const { return static_cast<int>(first_expert.size()); }
  const std::vector<Arrival>& arrivals_of(int rank) const {
    return arrivals[arrivals.size() == 1 ? 0 : static_cast<std::size_t>(rank)];
  }
  std::uint64_t sent_by(int rank) const;         // the rank's own included
  std::uint64_t wire_rows_sent(int rank) const;  // to others
  std::uint64_t wire_rows_received(int rank) const;
};

struct ExchangedRows {
  ExchangeKind kind = ExchangeKind::all_gather;
  int ranks = 0;
  // One; of per_node two: to the nodes, and within them. Results return in the opposite order.
  std::vector<RowHop> hops;
  // Of each rank the rows of each of its experts, and, sorted by expert and then by arrival, the
  // arrival of each row that is multiplied.
  std::vector<std::vector<std::int64_t>> rows_of_expert;
  std::vector<std::vector<std::int64_t>> multiplied;

  const std::vector<RowHop::Arrival>& arrivals(int rank) const {
    return hops.back().arrivals_of(rank);
  }
  // Rows that one rank's rails carry to other nodes, the most of all ranks. They carry what all
  // ranks of its node send to ranks of its column; of all_gather the rank's own rows, once to each
  // other node.
  std::uint64_t rail_rows(const NodeMap& nodes) const;
};
// Nodes must be uniform, and why_not() none.
ExchangedRows exchange(ExchangeKind kind, const RoutedTokens& routed, const NodeMap& nodes);

}  // namespace duet
