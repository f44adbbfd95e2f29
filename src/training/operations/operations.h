// The operations of which models consist. A model calls them on a stream; each kind of device
// implements them. All are enqueued and never block. A tensor of a wrong shape is a BadArgument,
// thrown by the call or as the stream's error.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/random.h"
#include "device/stream.h"
#include "training/operations/accumulate.h"
#include "training/operations/attention.h"
#include "training/operations/lora.h"
#include "training/operations/quantised.h"
#include "training/operations/tensor.h"

namespace duet {

// One LayerNorm over the columns: its input and parameters, and what the forward pass keeps.
struct NormTensors {
  Tensor x;
  Tensor weight, bias;             // (1, columns)
  Tensor mean, inverse_deviation;  // (1, rows), fp32
  Tensor weight_gradient, bias_gradient;
};

// The same for one RMSNorm. If `weight_gradient` has no elements, it is not computed.
struct RmsNormTensors {
  Tensor x;
  Tensor weight;       // (1, columns)
  Tensor inverse_rms;  // (1, rows), fp32
  Tensor weight_gradient;
};

// The heads of q and k, normalised by their root mean square and rotated by their positions, as
// attention takes them.
struct RotaryTensors {
  AttentionShape shape;       // with an even head_dim
  Tensor qkv;                 // (batch * tokens, qkv_width): q, k, v, each by heads
  Tensor q_weight, k_weight;  // (1, head_dim); without elements, heads are only rotated
  Tensor inverse_rms;         // (batch * tokens, heads + key_heads), fp32; not used without weights
  Tensor q_weight_gradient, k_weight_gradient;  // without elements, they are not computed
  double theta = 1e6;

  bool normalises() const { return q_weight.count() > 0; }
  // Whether the shape is valid, and the tensors and `result` have its sizes.
  bool fit(const Tensor& result) const;
  bool has_gradients() const { return q_weight_gradient.count() > 0; }
  // Whether the weights' gradients have the weights' sizes, if there are any.
  bool gradients_fit() const {
    return !has_gradients() || (q_weight_gradient.count() == q_weight.count() &&
                                k_weight_gradient.count() == k_weight.count());
  }
};

// Values that change from step to step, in device memory, so that one captured graph can run all
// steps.
struct StepState {
  std::int64_t step = 0;   // from 1 while a step runs
  std::uint64_t seed = 0;  // of the tokens that a step makes
  double learning_rate = 0;
  double gradient_factor = 1;  // of all gradients before the update
};

// The seed of the random numbers of one tensor in a step; `column` distinguishes tensors of a step.
DUET_HOST_DEVICE inline std::uint64_t seed_of(const StepState& state, std::uint64_t column) {
  return random_word(state.seed, static_cast<std::uint64_t>(state.step)) + column;
}

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};

// Parameters that are updated in the same way, with their gradients and states: tensors of one
// shape. bf16 parameters without a master, and bf16 moments, are rounded stochastically: rounding
// to nearest would lose updates that are small relative to the value.
struct OptimizerTensors {
  Tensor parameters, gradients;
  Tensor first_moments, second_moments;  // AdamW's; {} for SGD
  Tensor master;  // fp32 parameters, which are updated, and then rounded to `parameters`; may be {}
  std::int64_t first = 0;  // the first element's number, on which its random rounding depends
};

// Maximum for keep_blocks(): q, k and v are side by side.
inline constexpr std::size_t kMostBlocks = 3;
// Whether they are blocks of such a matrix.
bool blocks_fit(const std::vector<RowRange>& blocks, const Tensor& matrix);

class Operations {
 public:
  virtual ~Operations() = default;

  // Whether operations compute the contents of such a tensor. A simulated device computes only
  // small tensors in fp32.
  virtual bool computes(const Tensor& tensor) const = 0;
  // Device memory that the operations have allocated for all calls so far.
  virtual std::uint64_t workspace_bytes() const { return 0; }
  // For the journal, after a first step: what runs ("attention": "cudnn").
  virtual std::map<std::string, std::string> notes() const { return {}; }

  // Element i of a tensor becomes deviation * random_normal(seed, first + i) (core/random.h), and
  // the value everywhere. Devices differ in the last place of random numbers.
  virtual void fill_normal(Stream& stream, std::uint64_t seed, std::int64_t first, double deviation,
                           const Tensor& tensor) = 0;
  virtual void fill_value(Stream& stream, double value, const Tensor& tensor) = 0;
  // Each element times the factor.
  virtual void scale(Stream& stream, double factor, const Tensor& tensor) = 0;
  // Sets a matrix to 0 except its blocks: block i has the rows blocks[i], and the columns after
  // those of block i - 1, equally many in all blocks. At most kMostBlocks.
  virtual void keep_blocks(Stream& stream, const std::vector<RowRange>& blocks,
                           const Tensor& matrix) = 0;

  // Adds 1 to the state's step. `state`, here and below: a StepState in memory of the device.
  virtual void advance(Stream& stream, const Span& state) = 0;
  // Random tokens below `vocabulary`, which depend on the state and on `column` (seed_of()).
  virtual void random_tokens(Stream& stream, const Span& state, std::int64_t vocabulary,
                             std::uint64_t column, const Tensor& tokens) = 0;

  // Row r of x is row tokens[r] of the token table plus row r % length of the position table, which
  // may be without elements, and then so is its gradient; `tokens`: int32 (rows).
  virtual void embedding(Stream& stream, const Tensor& tokens, const Tensor& token_table,
                         const Tensor& position_table, const Tensor& x) = 0;
  // Adds to the token table's gradient; writes the position table's or adds to it.
  virtual void embedding_backward(Stream& stream, const Tensor& tokens, const Tensor& dx,
                                  const Tensor& dtoken_table, const Tensor& dposition_table,
                                  Accumulate positions) = 0;

  virtual void layer_norm(Stream& stream, const NormTensors& norm, const Tensor& y) = 0;
  // Writes dx or adds to it, as `accumulate` says, and the gradients of weight and bias, as
  // `gradients` says.
  virtual void layer_norm_backward(Stream& stream, const NormTensors& norm, const Tensor& dy,
                                   const Tensor& dx, Accumulate accumulate,
                                   Accumulate gradients) = 0;

  // y = x / sqrt(mean of x^2 + 1e-6) * weight.
  virtual void rms_norm(Stream& stream, const RmsNormTensors& norm, const Tensor& y) = 0;
  // Writes dx or adds to it, as `accumulate` says, and the weight's gradient, as `gradients` says.
  // dx may be dy.
  virtual void rms_norm_backward(Stream& stream, const RmsNormTensors& norm, const Tensor& dy,
                                 const Tensor& dx, Accumulate accumulate, Accumulate gradients) = 0;

  // y (rows, out) = x (rows, in) w^T, w (out, in).
  virtual void linear(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y) = 0;
  // y = residual + x w^T; y may be the residual.
  virtual void linear_add(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& residual,
                          const Tensor& y) = 0;
  // dx = dy w, or dx += dy w.
  virtual void linear_backward_input(Stream& stream, const Tensor& dy, const Tensor& w,
                                     const Tensor& dx, Accumulate accumulate) = 0;
  // hidden = x w^T, activated = gelu(hidden). Some devices compute both by one GEMM if that is
  // faster.
  virtual void linear_gelu(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& hidden,
                           const Tensor& activated) = 0;
  // dhidden = (dy w) gelu'(hidden), for a linear whose x was gelu(hidden).
  virtual void linear_backward_gelu(Stream& stream, const Tensor& dy, const Tensor& w,
                                    const Tensor& hidden, const Tensor& dhidden) = 0;
  // Whether the two run as one GEMM for such tensors; known after their first call.
  virtual bool fuses_gelu(const Tensor& x, const Tensor& hidden) const = 0;
  virtual bool fuses_backward_gelu(const Tensor& dy, const Tensor& hidden) const = 0;
  // dw = dy^T x, or dw += dy^T x.
  virtual void linear_backward_weight(Stream& stream, const Tensor& dy, const Tensor& x,
                                      const Tensor& dw, Accumulate accumulate) = 0;

  // `magnitude` (1, 1), fp32: the largest absolute value of x's elements; NaN if one is NaN.
  virtual void magnitude(Stream& stream, const Tensor& x, const Tensor& magnitude) = 0;
  // Converts x to fp8: the scale is magnitude / 448, or 1 if that is 0, and the values are x * (448
  // / magnitude), rounded to nearest even and clamped to 448 (E5M2: 57344 instead of 448). NaN
  // stays NaN. If the magnitude is not finite, products of the tensor are not finite either.
  virtual void quantise(Stream& stream, const Tensor& x, const Tensor& magnitude,
                        const Quantised& to) = 0;
  // y (m, n) = a b^T, or a b^T + addend if the addend (m, n) has elements, with a (m, k) and b (n,
  // k) in E4M3; a may be E5M2. The addend may be y. y and the addend have the same type, fp32 or
  // bf16. On GPUs m, n and k are multiples of 16.
  virtual void multiply_scaled(Stream& stream, const ScaledTensor& a, const ScaledTensor& b,
                               const Tensor& addend, const Tensor& y, Sums sums) = 0;

  // Random normal elements, which depend on the state and on `column` (seed_of()).
  virtual void random_elements(Stream& stream, const Span& state, std::uint64_t column,
                               const Tensor& tensor) = 0;

  virtual void relu(Stream& stream, const Tensor& x, const Tensor& y) = 0;
  // `y`: relu's result. dx may be dy.
  virtual void relu_backward(Stream& stream, const Tensor& y, const Tensor& dy,
                             const Tensor& dx) = 0;
  // GELU in the tanh form.
  virtual void gelu(Stream& stream, const Tensor& x, const Tensor& y) = 0;
  // dx may be dy.
  virtual void gelu_backward(Stream& stream, const Tensor& x, const Tensor& dy,
                             const Tensor& dx) = 0;

  // `rotated`, shaped as qkv, has q, k and v. Of each head x of q and k, with
  // n = x / sqrt(mean of x^2 + 1e-6) * weight, i < head_dim / 2, j = i + head_dim / 2 and the angle
  // a = t * theta^(-2i / head_dim) of token t of its sequence:
  //   rotated[i] = n[i] * cos(a) - n[j] * sin(a), rotated[j] = n[j] * cos(a) + n[i] * sin(a)
  // v is copied.
  virtual void rotate(Stream& stream, const RotaryTensors& tensors, const Tensor& rotated) = 0;
  // dqkv from the gradient of `rotated`, which it may be. Writes the gradients of the weights, or
  // adds to them.
  virtual void rotate_backward(Stream& stream, const RotaryTensors& tensors, const Tensor& drotated,
                               const Tensor& dqkv, Accumulate gradients) = 0;

  // y (rows, columns) = gate * sigmoid(gate) * up; `gate_up` (rows, 2 * columns): in each row the
  // gate's columns and after them up's.
  virtual void swiglu(Stream& stream, const Tensor& gate_up, const Tensor& y) = 0;
  // dgate_up may be gate_up.
  virtual void swiglu_backward(Stream& stream, const Tensor& gate_up, const Tensor& dy,
                               const Tensor& dgate_up) = 0;

  virtual void attention(Stream& stream, const AttentionTensors& tensors) = 0;
  virtual void attention_backward(Stream& stream, const AttentionTensors& tensors,
                                  const Tensor& dout, const Tensor& dqkv) = 0;

  // The loss of each row in `row_losses` (1, rows), fp32, and their mean in `loss` (1, 1), fp32.
  // Replaces the logits by the mean's gradient. Columns from `vocabulary` on are padding.
  // `targets`: int32 (rows).
  virtual void cross_entropy(Stream& stream, const Tensor& logits, std::int64_t vocabulary,
                             const Tensor& targets, const Tensor& row_losses,
                             const Tensor& loss) = 0;

  // The same of some rows of a batch of `batch_rows` rows, whose logits are computed a piece at a
  // time: the gradient is that of the mean over the batch, which mean() takes of all row losses.
  virtual void cross_entropy_piece(Stream& stream, const Tensor& logits, std::int64_t vocabulary,
                                   const Tensor& targets, std::int64_t batch_rows,
                                   const Tensor& row_losses) = 0;
  // The mean of all elements, fp32, in `mean` (1, 1), fp32.
  virtual void mean(Stream& stream, const Tensor& values, const Tensor& mean) = 0;

  // The mean of (prediction - target)^2, of each row in `row_losses` (1, rows), fp32, and of all in
  // `loss` (1, 1), fp32. Replaces the prediction by the mean's gradient.
  virtual void mean_squared_error(Stream& stream, const Tensor& prediction, const Tensor& target,
                                  const Tensor& row_losses, const Tensor& loss) = 0;

  // `sum` (1, 1), fp32: of the squares of all elements of all gradients.
  virtual void sum_of_squares(Stream& stream, const std::vector<Tensor>& gradients,
                              const Tensor& sum) = 0;
  // `norm` (1, 1), fp32: `scale` times the root of `squares` (1, 1), fp32, the Euclidean norm of
  // all gradients together. Sets the state's gradient_factor to `scale`, and where the norm is
  // above `limit`, to less, so that what the optimizer takes has the norm `limit`.
  virtual void clip(Stream& stream, const Span& state, const Tensor& squares, double scale,
                    double limit, const Tensor& norm) = 0;

  virtual void adamw(Stream& stream, const AdamWOptions& options, const Span& state,
                     const OptimizerTensors& tensors) = 0;
  // parameters -= learning_rate * gradient_factor * gradients, by the state's.
  virtual void sgd(Stream& stream, const Span& state, const OptimizerTensors& tensors) = 0;
};

struct OperationsOptions {
  // The same results, to the bit, at each call. Otherwise the fastest kernels, of which some on
  // GPUs sum in an order that changes.
  bool deterministic = true;
  double tuning_seconds = 3;  // about, for the choice of a large GEMM's algorithm; less for others
};

// The operations of a kind of device. Throws Unavailable where there are none.
std::unique_ptr<Operations> make_operations(Device& device, const OperationsOptions& options = {});

// Called by modules when they are loaded.
using MakeOperations =
    std::function<std::unique_ptr<Operations>(Device&, const OperationsOptions&)>;
void register_operations(const std::string& device_kind, MakeOperations make);

}  // namespace duet
