#include "moe/routing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>

#include "core/error.h"
#include "core/names.h"
#include "core/random.h"
#include "core/units.h"
#include "training/operations/expert_groups.h"

namespace duet {
namespace {

constexpr std::uint64_t kExpertOrder = 0x6F72646572;  // the seed of zipf's order of experts
constexpr double kMostSkew = 1e6;

constexpr NamedValue<ExchangeKind> kExchanges[] = {{ExchangeKind::all_gather, "all-gather"},
                                                   {ExchangeKind::per_rank, "per-rank"},
                                                   {ExchangeKind::per_expert, "per-expert"}};

[[noreturn]] void refuse_routing(const std::string& text) {
  throw UsageError(fmt::format(
      "--routing {}: expected uniform, zipf:S, hot:N or file:PATH, with numbers above 0", text));
}

double parameter_of(const std::string& text, std::size_t at) {
  std::size_t end = 0;
  double value = 0;
  try {
    value = std::stod(text.substr(at), &end);
  } catch (const std::exception&) {
    refuse_routing(text);
  }
  if (at + end != text.size() || !(value > 0 && value <= kMostSkew)) refuse_routing(text);
  return value;
}

std::vector<std::vector<std::int32_t>> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UsageError(fmt::format("--routing file:{}: cannot be read", path));
  std::vector<std::vector<std::int32_t>> lines;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::vector<std::int32_t> experts;
    for (std::int32_t expert = 0; words >> expert;) experts.push_back(expert);
    if (!words.eof()) {
      throw UsageError(fmt::format("--routing file:{}: line {}: expected numbers of experts", path,
                                   lines.size() + 1));
    }
    lines.push_back(std::move(experts));
  }
  if (lines.empty()) throw UsageError(fmt::format("--routing file:{}: has no lines", path));
  return lines;
}

// The logarithm of each expert's probability, up to a constant.
std::vector<double> log_probabilities(const TokenRouting& routing, std::int64_t experts) {
  std::vector<double> logs(static_cast<std::size_t>(experts), 0.0);
  if (routing.kind == TokenRouting::Kind::hot) logs[0] = std::log(routing.parameter);
  if (routing.kind != TokenRouting::Kind::zipf) return logs;
  std::vector<std::size_t> order(logs.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [](std::size_t a, std::size_t b) {
    return random_word(kExpertOrder, a) < random_word(kExpertOrder, b);
  });
  for (std::size_t i = 0; i < order.size(); ++i)
    logs[order[i]] = -routing.parameter * std::log(static_cast<double>(i + 1));
  return logs;
}

// A random number of the Gumbel distribution.
double gumbel(std::uint64_t seed, std::uint64_t index) {
  const double u = (static_cast<double>(random_word(seed, index) >> 11) + 0.5) * 0x1p-53;
  return -std::log(-std::log(u));
}

// Logits of which those of a line's experts are the largest, in the line's order.
void write_line(const std::vector<std::int32_t>& line, float* logits) {
  auto logit = static_cast<float>(line.size());
  for (const std::int32_t expert : line) logits[expert] = logit--;
}

}  // namespace

std::string TokenRouting::text() const {
  switch (kind) {
    case Kind::uniform:
      return "uniform";
    case Kind::zipf:
      return fmt::format("zipf:{}", parameter);
    case Kind::hot:
      return fmt::format("hot:{}", parameter);
    case Kind::file:
      return "file:" + path;
  }
  return "";
}

TokenRouting parse_token_routing(const std::string& text) {
  TokenRouting routing;
  const auto begins = [&](const char* with) { return text.rfind(with, 0) == 0; };
  if (text == "uniform") return routing;
  if (begins("zipf:") || begins("hot:")) {
    routing.kind = begins("zipf:") ? TokenRouting::Kind::zipf : TokenRouting::Kind::hot;
    routing.parameter = parameter_of(text, text.find(':') + 1);
    return routing;
  }
  if (!begins("file:") || text.size() == 5) refuse_routing(text);
  routing.kind = TokenRouting::Kind::file;
  routing.path = text.substr(5);
  routing.lines = read_lines(routing.path);
  return routing;
}

void check(const TokenRouting& routing, const MoeShape& shape) {
  for (std::size_t i = 0; i < routing.lines.size(); ++i) {
    std::vector<std::int32_t> line = routing.lines[i];
    std::sort(line.begin(), line.end());
    const bool differ = std::adjacent_find(line.begin(), line.end()) == line.end();
    const bool fit = static_cast<std::int64_t>(line.size()) == shape.chosen && line.front() >= 0 &&
                     line.back() < shape.experts;
    if (differ && fit) continue;
    throw UsageError(fmt::format("--routing {}: line {}: expected {} different experts of 0 to {}",
                                 routing.text(), i + 1, shape.chosen, shape.experts - 1));
  }
}

std::vector<float> router_logits(const TokenRouting& routing, const MoeShape& shape,
                                 std::uint64_t seed, int rank) {
  const auto experts = static_cast<std::size_t>(shape.experts);
  const auto tokens = static_cast<std::size_t>(shape.tokens);
  const std::vector<double> logs = log_probabilities(routing, shape.experts);
  std::vector<float> logits(tokens * experts);
  const auto first = static_cast<std::size_t>(rank) * tokens;
  for (std::size_t token = 0; token < tokens; ++token) {
    float* const row = &logits[token * experts];
    if (routing.kind == TokenRouting::Kind::file) {
      write_line(routing.lines[(seed + first + token) % routing.lines.size()], row);
      continue;
    }
    for (std::size_t e = 0; e < experts; ++e) {
      const double random = gumbel(seed, (first + token) * experts + e);
      row[e] = static_cast<float>(logs[e] + random);
    }
  }
  return logits;
}

namespace {

// Drops the choices of one rank's tokens, from `first` on, that their experts have no room for.
void drop_beyond(std::int64_t capacity, std::size_t first, RoutedTokens& routed) {
  std::vector<std::int64_t> taken(static_cast<std::size_t>(routed.shape.experts));
  for (std::size_t i = first; i < routed.experts.size(); ++i) {
    std::int32_t& expert = routed.experts[i];
    if (++taken[static_cast<std::size_t>(expert)] > capacity) expert = -1;
  }
}

}  // namespace

std::int64_t RoutedTokens::dropped() const {
  return std::count(experts.begin(), experts.end(), -1);
}

void add_tokens(RoutedTokens& routed, const std::vector<float>& logits) {
  const MoeShape& shape = routed.shape;
  const std::size_t first = routed.experts.size();
  std::size_t at = first;
  const std::size_t end = at + static_cast<std::size_t>(shape.tokens * shape.chosen);
  routed.experts.resize(end);
  routed.weights.resize(end);
  for (std::int64_t token = 0; at < end; ++token, at += static_cast<std::size_t>(shape.chosen)) {
    choose(&logits[static_cast<std::size_t>(token * shape.experts)], shape.experts, shape.chosen,
           shape.normalised, &routed.experts[at], &routed.weights[at]);
  }
  if (shape.drops()) drop_beyond(shape.capacity(), first, routed);
}

RoutedTokens route(const TokenRouting& routing, const MoeShape& shape, std::uint64_t seed,
                   int ranks) {
  RoutedTokens routed{shape, ranks, {}, {}};
  for (int rank = 0; rank < ranks; ++rank)
    add_tokens(routed, router_logits(routing, shape, seed, rank));
  return routed;
}

const char* name(ExchangeKind kind) { return name_of(kExchanges, kind); }

ExchangeKind parse_exchange(const std::string& text) {
  return parse_name(kExchanges, "--exchange: unknown exchange", text);
}

std::vector<ExchangeKind> all_exchanges() {
  return {ExchangeKind::all_gather, ExchangeKind::per_rank, ExchangeKind::per_expert};
}

std::uint64_t ExchangedRows::sent_by(int rank) const {
  const auto first = sent.begin() + static_cast<std::ptrdiff_t>(rank) * ranks;
  return std::accumulate(first, first + ranks, std::uint64_t{0});
}

std::uint64_t ExchangedRows::wire_rows_sent(int rank) const {
  return sent_by(rank) - sent[static_cast<std::size_t>(rank * ranks + rank)];
}

std::uint64_t ExchangedRows::wire_rows_received(int rank) const {
  std::uint64_t rows = 0;
  for (int from = 0; from < ranks; ++from) {
    if (from != rank) rows += sent[static_cast<std::size_t>(from * ranks + rank)];
  }
  return rows;
}

namespace {

// What each rank sends, by destination, in the order in which it stands in the send buffer.
class Sorting {
 public:
  Sorting(ExchangeKind kind, const RoutedTokens& routed) : kind_(kind), routed_(routed) {}

  std::vector<ExchangedRows::Arrival> from_to(int from, int to) const {
    std::vector<ExchangedRows::Arrival> rows;
    const std::int64_t first = from * routed_.shape.tokens, end = first + routed_.shape.tokens;
    for (std::int64_t token = first; token < end; ++token) {
      if (kind_ == ExchangeKind::all_gather) rows.push_back({token});
      if (kind_ == ExchangeKind::per_rank && reaches(token, to)) rows.push_back({token});
      if (kind_ == ExchangeKind::per_expert) add_choices(token, to, rows);
    }
    // By expert, and of an expert by token.
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.expert < b.expert; });
    return rows;
  }

 private:
  bool reaches(std::int64_t token, int rank) const {
    const std::int32_t* const experts = routed_.experts_of(token);
    return std::any_of(experts, experts + routed_.shape.chosen,
                       [&](std::int32_t each) { return routed_.rank_of(each) == rank; });
  }
  void add_choices(std::int64_t token, int rank, std::vector<ExchangedRows::Arrival>& rows) const {
    for (std::int64_t j = 0; j < routed_.shape.chosen; ++j) {
      const std::int32_t expert = routed_.experts_of(token)[j];
      if (routed_.rank_of(expert) == rank) rows.push_back({token, expert});
    }
  }

  ExchangeKind kind_;
  const RoutedTokens& routed_;
};

// Sorts what a rank has received by its experts.
void sort_arrivals(const RoutedTokens& routed, int rank, ExchangedRows& rows) {
  const std::vector<ExchangedRows::Arrival>& arrivals = rows.arrivals.back();
  const std::int64_t own = routed.experts_of_rank(), first = rank * own;
  std::vector<std::vector<std::int64_t>> by_expert(static_cast<std::size_t>(own));
  const auto add = [&](std::int32_t expert, std::size_t arrival) {
    if (expert < first || expert >= first + own) return;
    by_expert[static_cast<std::size_t>(expert - first)].push_back(
        static_cast<std::int64_t>(arrival));
  };
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    if (rows.kind == ExchangeKind::per_expert) {
      add(arrivals[i].expert, i);
      continue;
    }
    for (std::int64_t j = 0; j < routed.shape.chosen; ++j)
      add(routed.experts_of(arrivals[i].token)[j], i);
  }
  auto& counts = rows.rows_of_expert.emplace_back();
  auto& all = rows.multiplied.emplace_back();
  for (const auto& of : by_expert) {
    counts.push_back(static_cast<std::int64_t>(of.size()));
    all.insert(all.end(), of.begin(), of.end());
  }
}

}  // namespace

ExchangedRows exchange(ExchangeKind kind, const RoutedTokens& routed) {
  ExchangedRows rows{kind, routed.ranks, {}, {}, {}, {}};
  const auto ranks = static_cast<std::size_t>(routed.ranks);
  rows.sent.resize(ranks * ranks);
  const Sorting sorting(kind, routed);
  for (int to = 0; to < routed.ranks; ++to) {
    auto& arrivals = rows.arrivals.emplace_back();
    for (int from = 0; from < routed.ranks; ++from) {
      const auto some = sorting.from_to(from, to);
      rows.sent[static_cast<std::size_t>(from) * ranks + static_cast<std::size_t>(to)] =
          some.size();
      arrivals.insert(arrivals.end(), some.begin(), some.end());
    }
    sort_arrivals(routed, to, rows);
  }
  return rows;
}

}  // namespace duet
