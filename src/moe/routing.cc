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

}  // namespace duet
