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

}  // namespace duet
