#include "moe/exchanged_rows.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/names.h"

namespace duet {
namespace {

using Arrival = RowHop::Arrival;

constexpr NamedValue<ExchangeKind> kExchanges[] = {{ExchangeKind::all_gather, "all-gather"},
                                                   {ExchangeKind::per_rank, "per-rank"},
                                                   {ExchangeKind::per_expert, "per-expert"},
                                                   {ExchangeKind::per_node, "per-node"}};

std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }

std::vector<Arrival> tokens_of(const RoutedTokens& routed, int rank) {
  std::vector<Arrival> rows(at(routed.shape.tokens));
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i].token = rank * routed.shape.tokens + static_cast<std::int64_t>(i);
  return rows;
}

// What one rank sends of its rows, by destination, in the order in which it stands in the send
// buffer: a row once to each rank to which `destination` maps one of its token's experts, or, with
// `each`, of every expert by itself, sorted by expert. Negative destinations are none.
std::vector<std::vector<Arrival>> sorted(const RoutedTokens& routed,
                                         const std::vector<Arrival>& rows, bool each,
                                         const std::function<int(std::int32_t)>& destination) {
  std::vector<std::vector<Arrival>> sent(at(routed.ranks));
  std::vector<std::int64_t> last(at(routed.ranks), -1);  // the token that each was sent
  for (const Arrival& row : rows) {
    for (std::int64_t j = 0; j < routed.shape.chosen; ++j) {
      const std::int32_t expert = routed.experts_of(row.token)[j];
      const int to = destination(expert);
      if (to < 0 || (!each && last[at(to)] == row.token)) continue;
      last[at(to)] = row.token;
      sent[at(to)].push_back({row.token, each ? expert : -1});
    }
  }
  if (!each) return sent;
  for (std::vector<Arrival>& to : sent) {
    std::stable_sort(to.begin(), to.end(),
                     [](const Arrival& a, const Arrival& b) { return a.expert < b.expert; });
  }
  return sent;
}

// Appends what one rank sends to what the others have got of those before it.
void append(RowHop& hop, int from, const std::vector<std::vector<Arrival>>& sent) {
  for (std::size_t to = 0; to < sent.size(); ++to) {
    hop.sent[at(from) * sent.size() + to] = sent[to].size();
    hop.arrivals[to].insert(hop.arrivals[to].end(), sent[to].begin(), sent[to].end());
  }
}

RowHop hop_of(int ranks, int groups, std::int64_t experts_of_group) {
  RowHop hop;
  hop.groups = groups;
  hop.experts_of_group = experts_of_group;
  hop.first_expert.resize(at(ranks));
  hop.sent.resize(at(ranks) * at(ranks));
  hop.arrivals.resize(at(ranks));
  return hop;
}

RowHop gathered(const RoutedTokens& routed) {
  RowHop hop = hop_of(routed.ranks, 0, 0);
  std::fill(hop.sent.begin(), hop.sent.end(), static_cast<std::uint64_t>(routed.shape.tokens));
  hop.arrivals = {{}};
  for (int from = 0; from < routed.ranks; ++from) {
    const std::vector<Arrival> own = tokens_of(routed, from);
    hop.arrivals.front().insert(hop.arrivals.front().end(), own.begin(), own.end());
  }
  return hop;
}

RowHop to_experts(const RoutedTokens& routed, bool each) {
  RowHop hop = each ? hop_of(routed.ranks, static_cast<int>(routed.shape.experts), 1)
                    : hop_of(routed.ranks, routed.ranks, routed.experts_of_rank());
  for (int from = 0; from < routed.ranks; ++from) {
    append(hop, from, sorted(routed, tokens_of(routed, from), each, [&](std::int32_t expert) {
             return routed.rank_of(expert);
           }));
  }
  return hop;
}

RowHop to_nodes(const RoutedTokens& routed, const NodeMap& nodes) {
  RowHop hop = hop_of(routed.ranks, nodes.nodes(), routed.experts_of_rank() * nodes.node_size());
  for (int from = 0; from < routed.ranks; ++from) {
    append(hop, from, sorted(routed, tokens_of(routed, from), false, [&](std::int32_t expert) {
             const int rank = routed.rank_of(expert);
             return rank < 0 ? -1 : nodes.rank(nodes.node(rank), nodes.local(from));
           }));
  }
  return hop;
}

RowHop within_nodes(const RoutedTokens& routed, const NodeMap& nodes, const RowHop& before) {
  const std::int64_t own = routed.experts_of_rank();
  RowHop hop = hop_of(routed.ranks, nodes.node_size(), own);
  for (int from = 0; from < routed.ranks; ++from) {
    hop.first_expert[at(from)] = nodes.node(from) * nodes.node_size() * own;
    append(hop, from, sorted(routed, before.arrivals_of(from), false, [&](std::int32_t expert) {
             const int rank = routed.rank_of(expert);
             return rank >= 0 && nodes.node(rank) == nodes.node(from) ? rank : -1;
           }));
  }
  return hop;
}

// Sorts what the ranks have received by their experts.
void sort_arrivals(const RoutedTokens& routed, ExchangedRows& rows) {
  const std::int64_t own = routed.experts_of_rank();
  std::vector<std::vector<std::int64_t>> by_expert(at(routed.shape.experts));
  const auto add = [&](int rank, std::int32_t expert, std::size_t arrival) {
    const int of = routed.rank_of(expert);
    if (of < 0 || (of != rank && rank >= 0)) return;
    by_expert[at(expert)].push_back(static_cast<std::int64_t>(arrival));
  };
  const std::vector<std::vector<Arrival>>& all = rows.hops.back().arrivals;
  for (std::size_t list = 0; list < all.size(); ++list) {
    const int rank = rows.kind == ExchangeKind::all_gather ? -1 : static_cast<int>(list);
    for (std::size_t i = 0; i < all[list].size(); ++i) {
      if (rows.kind == ExchangeKind::per_expert) {
        add(rank, all[list][i].expert, i);
        continue;
      }
      for (std::int64_t j = 0; j < routed.shape.chosen; ++j)
        add(rank, routed.experts_of(all[list][i].token)[j], i);
    }
  }
  for (int rank = 0; rank < routed.ranks; ++rank) {
    auto& counts = rows.rows_of_expert.emplace_back();
    auto& multiplied = rows.multiplied.emplace_back();
    for (std::int64_t expert = rank * own; expert < (rank + 1) * own; ++expert) {
      const std::vector<std::int64_t>& of = by_expert[at(expert)];
      counts.push_back(static_cast<std::int64_t>(of.size()));
      multiplied.insert(multiplied.end(), of.begin(), of.end());
    }
  }
}

}  // namespace

const char* name(ExchangeKind kind) { return name_of(kExchanges, kind); }

ExchangeKind parse_exchange(const std::string& text) {
  return parse_name(kExchanges, "--exchange: unknown exchange", text);
}

std::vector<ExchangeKind> all_exchanges(int nodes) {
  std::vector<ExchangeKind> all{ExchangeKind::all_gather, ExchangeKind::per_rank,
                                ExchangeKind::per_expert};
  if (nodes > 1) all.push_back(ExchangeKind::per_node);
  return all;
}

std::string why_not(ExchangeKind kind, const NodeMap& nodes) {
  if (kind != ExchangeKind::per_node) return "";
  if (!nodes.not_uniform().empty()) return nodes.not_uniform();
  for (int rank = 0; rank < nodes.size(); ++rank) {
    if (nodes.node(rank) != rank / nodes.node_size())
      return "per-node: expected nodes of consecutive ranks";
  }
  return "";
}

std::uint64_t RowHop::sent_by(int rank) const {
  const auto first = sent.begin() + static_cast<std::ptrdiff_t>(rank) * ranks();
  return std::accumulate(first, first + ranks(), std::uint64_t{0});
}

std::uint64_t RowHop::wire_rows_sent(int rank) const {
  return sent_by(rank) - sent[at(rank) * at(ranks()) + at(rank)];
}

std::uint64_t RowHop::wire_rows_received(int rank) const {
  std::uint64_t rows = 0;
  for (int from = 0; from < ranks(); ++from) {
    if (from != rank) rows += sent[at(from) * at(ranks()) + at(rank)];
  }
  return rows;
}

std::uint64_t ExchangedRows::rail_rows(const NodeMap& nodes) const {
  if (kind == ExchangeKind::all_gather) return hops.front().sent.front() * at(nodes.nodes() - 1);
  std::vector<std::uint64_t> carried(at(ranks));
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (nodes.node(from) == nodes.node(to)) continue;
      const int sender = nodes.rank(nodes.node(from), nodes.local(to));
      carried[at(sender)] += hops.front().sent[at(from) * at(ranks) + at(to)];
    }
  }
  return *std::max_element(carried.begin(), carried.end());
}

ExchangedRows exchange(ExchangeKind kind, const RoutedTokens& routed, const NodeMap& nodes) {
  ExchangedRows rows{kind, routed.ranks, {}, {}, {}};
  if (kind == ExchangeKind::all_gather) {
    rows.hops.push_back(gathered(routed));
  } else if (kind == ExchangeKind::per_node) {
    rows.hops.push_back(to_nodes(routed, nodes));
    rows.hops.push_back(within_nodes(routed, nodes, rows.hops.front()));
  } else {
    rows.hops.push_back(to_experts(routed, kind == ExchangeKind::per_expert));
  }
  sort_arrivals(routed, rows);
  return rows;
}

}  // namespace duet
