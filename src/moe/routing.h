// Which experts tokens choose. A token's choice follows from its number among the tokens of all
// ranks, so that it is the same for any number of ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "moe/shape.h"

namespace duet {

// How likely experts are. Choices are drawn without replacement: an expert's logit is the logarithm
// of its probability plus a random number of the Gumbel distribution, and the largest are chosen
// (Kool, van Hoof, Welling: Stochastic Beams and Where to Find Them, 2019).
struct TokenRouting {
  enum class Kind {
    uniform,
    zipf,  // proportional to 1 / (i + 1)^parameter of expert i of a fixed random order
    hot,   // expert 0 is `parameter` times as likely as each other
    file,  // tokens choose as the lines of a file say, from the first line again behind the last
  };
  Kind kind = Kind::uniform;
  double parameter = 0;
  std::string path;
  std::vector<std::vector<std::int32_t>> lines;

  std::string text() const;  // as parse_token_routing() takes it
};

// "uniform", "zipf:1.2", "hot:16", "file:PATH" with a token's experts in a line, separated by
// blanks, those with larger weights first. Throws UsageError.
TokenRouting parse_token_routing(const std::string& text);
// Throws UsageError unless a file's lines have the shape's number of its experts, all different.
void check(const TokenRouting& routing, const MoeShape& shape);

// The logits of a rank's tokens, (tokens, experts), of which a device finds the largest.
std::vector<float> router_logits(const TokenRouting& routing, const MoeShape& shape,
                                 std::uint64_t seed, int rank);

// What all ranks' tokens choose, by token of all ranks.
struct RoutedTokens {
  MoeShape shape;
  int ranks = 0;
  std::vector<std::int32_t> experts;  // (ranks * tokens, chosen); -1: dropped
  std::vector<float> weights;         // likewise

  std::int64_t experts_of_rank() const { return shape.experts / ranks; }
  int rank_of(std::int32_t expert) const {  // -1: of a choice that is dropped
    return expert < 0 ? -1 : static_cast<int>(expert / experts_of_rank());
  }
  std::int64_t dropped() const;  // choices
  const std::int32_t* experts_of(std::int64_t token) const {
    return &experts[static_cast<std::size_t>(token * shape.chosen)];
  }
  const float* weights_of(std::int64_t token) const {
    return &weights[static_cast<std::size_t>(token * shape.chosen)];
  }
};
// What the next rank's tokens choose, of its logits.
void add_tokens(RoutedTokens& routed, const std::vector<float>& logits);
RoutedTokens route(const TokenRouting& routing, const MoeShape& shape, std::uint64_t seed,
                   int ranks);

// How rows go to the ranks of their experts, and back.
enum class ExchangeKind {
  // Every rank gets the rows of all tokens, and returns partial sums of all, which are added on the
  // way (reduce_scatter). Nothing depends on the routing.
  all_gather,
  // A token's row goes once to each rank that has one of its experts, and one partial sum returns.
  per_rank,
  // A token's row goes to each of its experts, and as many return, which the token's rank adds.
  per_expert,
};
const char* name(ExchangeKind kind);
ExchangeKind parse_exchange(const std::string& text);  // throws UsageError
std::vector<ExchangeKind> all_exchanges();

// What moves, and where it stands.
struct ExchangedRows {
  ExchangeKind kind = ExchangeKind::all_gather;
  int ranks = 0;
  std::vector<std::uint64_t> sent;  // rows from rank f to rank t at [f * ranks + t]
  // Of each rank, of each row that it receives in order, the token; of per_expert also its expert.
  struct Arrival {
    std::int64_t token = 0;
    std::int32_t expert = -1;
  };
  std::vector<std::vector<Arrival>> arrivals;
  // Of each rank the rows of each of its experts, and, sorted by expert and then by arrival, the
  // arrival of each row that is multiplied.
  std::vector<std::vector<std::int64_t>> rows_of_expert;
  std::vector<std::vector<std::int64_t>> multiplied;

  std::uint64_t sent_by(int rank) const;         // the rank's own included
  std::uint64_t wire_rows_sent(int rank) const;  // to others
  std::uint64_t wire_rows_received(int rank) const;
};
ExchangedRows exchange(ExchangeKind kind, const RoutedTokens& routed);

}  // namespace duet
