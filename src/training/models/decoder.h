// What models of pre-norm decoder blocks have in common: the blocks and the norm behind them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "training/models/decoder_shape.h"
#include "training/models/expert_layer.h"
#include "training/models/linear.h"
#include "training/models/split_vocabulary.h"
#include "training/models/token_model.h"

namespace duet {

class Decoder : public TokenModel {
 protected:
  Decoder(Device& device, Operations& operations, Parameters parameters, std::int64_t vocabulary,
          const DecoderShape& shape);

  // For lay_out(): the blocks and the norm behind them; losses of at most so many tokens at a time,
  // for piece_loss(); and, after all other activations, the gradients of activations.
  void lay_out_blocks();
  void lay_out_losses(const std::string& token_table, std::int64_t piece);
  void lay_out_gradients();
  // "qkv", "attention_out", "ffn_in" or "ffn_out" of a block ("block.3."). `shared`: the linear of
  // the first block whose input stands where this one's does; nullptr: its input is its own.
  virtual Linear lay_out_linear(const std::string& block, const std::string& linear,
                                const Linear* shared);

  // The input of the first block, from the tokens' rows of a table and those of positions, which
  // may be without elements; and, after backward_blocks(), the gradients of both.
  void embed(Stream& stream, const Tensor& token_table, const Tensor& positions);
  void embed_backward(Stream& stream, const Tensor& dtoken_table, const Tensor& dpositions,
                      Accumulate gradients);
  // After forward_blocks(): what the head multiplies, the last norm's result of all tokens.
  Tensor head_input(Stream& stream);
  // Its gradient, which the caller writes before head_input_backward(), which is before
  // backward_blocks().
  const Tensor& dhead_input() const;
  void head_input_backward(Stream& stream);
  // The loss of a piece of the tokens, as CrossEntropyPiece; and of all, as CrossEntropy.
  void piece_loss(Stream& stream, const CrossEntropyPiece& piece);
  void batch_loss(Stream& stream, const Tensor& logits);

  // The last norm's result, of this rank's tokens.
  const Tensor& normed() const { return normed_; }

  void forward_blocks(Stream& stream, const BlockBegins& begins);
  // `complete` for all parameters but those before the blocks.
  void backward_blocks(Stream& stream, Accumulate gradients, const GradientsComplete& complete,
                       const BlockBegins& begins);
  // The parameters before those of the first block.
  ParameterRange before_blocks() const { return {0, blocks_.front().all.first}; }

 private:
  struct Block {
    ParameterRange all;  // indices into parameters_
    Linear qkv, attention_out, ffn_in, ffn_out;
    NormTensors norm_1, norm_2;
    Tensor normed_1, normed_2;           // the norms' results
    Tensor projected;                    // q, k and v as they are projected
    RotaryTensors rotary;                // where the shape rotates
    AttentionTensors attention;          // of q, k and v, rotated where the shape rotates
    Tensor middle;                       // the residual stream between attention and FFN
    Tensor hidden, activated;            // the FFN before and after its activation
    std::optional<ExpertLayer> experts;  // in place of the FFN
  };

  Block lay_out_block(std::int64_t layer, const Tensor& x);
  void lay_out_attention(Block& block, const std::string& name);
  void lay_out_ffn(Block& block, const std::string& name);
  void lay_out_experts(Block& block, const std::string& name);
  NormTensors lay_out_norm(const std::string& name, const Tensor& x);
  Linear made_linear(const std::string& block, const std::string& linear, const Linear* shared);
  void begin_workspace(Stream& stream) override;
  // A linear's input, which the gradient of its weight alone takes.
  Tensor linear_input(const std::string& name, Tensor Block::*input, std::int64_t rows,
                      std::int64_t columns);
  // Kept for the backward pass, or, where it is recomputed, of the first block and shared by all.
  bool is_shared(Recompute least) const { return shape_.recompute >= least && !blocks_.empty(); }
  bool is_split() const { return shape_.shard.ranks > 1; }
  bool has_experts() const { return shape_.experts > 0; }
  // The output of block `layer`, which the next one reads.
  const Tensor& output_of(std::int64_t layer) const;

  // The parts of a block's forward pass, which the backward pass may call again.
  void attend(Stream& stream, const Block& block);
  void expand(Stream& stream, const Block& block);
  void forward_block(Stream& stream, std::int64_t layer);
  void recompute(Stream& stream, const Block& block);
  void backward_block(Stream& stream, const Block& block, Accumulate gradients);
  void backward_ffn(Stream& stream, const Block& block, Accumulate gradients);

  DecoderShape shape_;
  std::vector<Block> blocks_;
  NormTensors norm_;
  Tensor normed_;
  // Gradients of activations: of the residual stream, and of one block at a time. dffn_: of hidden,
  // or, before SwiGLU's gradient takes the place of hidden, of activated.
  Tensor dresidual_, dnormed_, dqkv_, dattended_, dffn_;
  ExpertWorkspace expert_workspace_;
  ExpertActivations first_experts_;  // of the first block
  // Of several ranks.
  SplitWorkspace split_workspace_;
  std::optional<SplitVocabulary> split_vocabulary_;
};

}  // namespace duet
