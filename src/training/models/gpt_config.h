// The sizes of a GPT: its parameters, and what a step costs by the usual counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "training/models/parameters.h"

namespace duet {

// What of each block is computed once more in the backward pass, instead of being kept. It changes
// no bits.
enum class Recompute {
  none,
  attention,  // first norm, q, k, v and attention
  block,      // all but the block's input
};
const char* name(Recompute recompute);
Recompute parse_recompute(std::string_view text);  // throws UsageError

// Pre-norm blocks of causal attention and an FFN (GELU in the tanh form), LayerNorm with weight and
// bias, linears without biases, a learned position for each place of the sequence, and a head that
// is the token table.
struct GptConfig {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t width = 0;  // of the residual stream; a multiple of `heads`
  std::int64_t ffn_width = 0;
  std::int64_t vocabulary = 0;
  std::int64_t batch = 0;     // sequences per step
  std::int64_t sequence = 0;  // tokens per sequence, and the number of positions
  Recompute recompute = Recompute::none;
  // Defaults of a run on a text; 0: none.
  std::int64_t steps = 0;
  double learning_rate = 0;

  std::int64_t head_width() const { return width / heads; }
  std::int64_t tokens() const { return batch * sequence; }  // per step
};

// All parameters: the tables, each block, the last norm. Weights of linears have a row for each
// output. They begin as GPT-2's: normal, of deviation 0.02, those that write into the residual
// stream divided by sqrt(2 layers); norms as 1 and 0. The token table's rows in memory are a
// multiple of 128: GEMMs with odd sides are slow.
std::vector<ModelParameter> parameters(const GptConfig& config);

// N: the sum of all parameters' counts, embeddings included.
std::int64_t parameter_count(const GptConfig& config);

// FLOP per token of a step (forward and backward), by the counts that are in use.
struct TrainingFlop {
  double six_n = 0;            // 6 N
  double six_n_attention = 0;  // 6 N + 12 layers width sequence: the masked half counts too
  // 6 x the parameters of matrices that tokens are multiplied with (the head, not the tables' look-
  // up) + 6 layers width sequence, the half of attention that is not masked.
  double model = 0;
  // What the device executes: `model`, attention's two products that backward computes again
  // (layers width sequence: 5 products for the forward's 2), and what is recomputed.
  double hardware = 0;
};
TrainingFlop flop_per_token(const GptConfig& config);
// Of a model with so many parameters, of which a token is multiplied with `multiplied`;
// `attention`: layers * width of attention * sequence; `recomputed`: FLOP per token.
TrainingFlop training_flop(std::int64_t parameters, double multiplied, double attention,
                           double recomputed);

// Parses a file of [[model]] tables. Throws UsageError with the file, the line, the key and what
// was expected.
std::vector<GptConfig> read_gpt_configs(const std::string& file, std::string_view text);

// The models of the training study (specs/training/gpt.toml), smallest first.
const std::vector<GptConfig>& gpt_configs();
// These, and the one for CPUs (specs/training/gpt_tiny.toml).
std::vector<std::string> gpt_names();
// A built-in model by name, or the only model of the file `name`, which ends with ".toml". Throws
// UsageError.
GptConfig find_gpt(const std::string& name);

// The contents of specs/training, embedded at build time, by file name without ending.
const std::map<std::string, std::string_view>& training_spec_texts();

}  // namespace duet
