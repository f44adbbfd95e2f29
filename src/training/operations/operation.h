// The operations of which models consist. Each is declared here alone: what it computes, its
// tensors and options, which shapes fit, and the part of a step that its time belongs to. Devices
// implement it: Operations::run() enqueues it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "training/operations/accumulate.h"
#include "training/operations/attention.h"
#include "training/operations/lora.h"
#include "training/operations/optimizer.h"
#include "training/operations/quantised.h"
#include "training/operations/tensor.h"
#include "training/operations/vocabulary_part.h"

namespace duet {

// What the time of a step goes to.
enum class StepPart { gemm, attention, norm, elementwise, loss, optimizer };
inline constexpr std::size_t kStepParts = 6;
const char* name(StepPart part);
StepPart parse_step_part(std::string_view text);

// A LayerNorm over the columns, or, without a bias and a mean, an RMSNorm: its input and
// parameters, and what the forward pass keeps. Gradients without elements are not computed.
struct NormTensors {
  Tensor x;
  Tensor weight, bias;   // (1, columns)
  Tensor mean, inverse;  // (1, rows), fp32; inverse: of the deviation or the root mean square
  Tensor weight_gradient, bias_gradient;

  bool centred() const { return bias.count() > 0; }  // a LayerNorm
  bool fit(const Tensor& y) const {
    return same_shape(x, y) && weight.count() == y.columns && inverse.count() == y.rows &&
           bias.count() == (centred() ? y.columns : 0) && mean.count() == (centred() ? y.rows : 0);
  }
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

// Element (i, j) of the tensor becomes deviation * random_normal(seed, first + i * step + j)
// (core/random.h). Devices differ in the last place of random numbers.
struct FillNormal {
  static constexpr const char* kName = "normal";
  static constexpr StepPart kPart = StepPart::elementwise;
  std::uint64_t seed = 0;
  std::int64_t first = 0;
  double deviation = 1;
  Tensor tensor;
  std::int64_t row_step = 0;  // 0: the tensor's columns
  std::int64_t step() const { return row_step == 0 ? tensor.columns : row_step; }
  bool fits() const { return true; }
};

// Each element becomes the value.
struct FillValue {
  static constexpr const char* kName = "value";
  static constexpr StepPart kPart = StepPart::elementwise;
  double value = 0;
  Tensor tensor;
  bool fits() const { return true; }
};

// Each element times the factor.
struct Scale {
  static constexpr const char* kName = "scale";
  static constexpr StepPart kPart = StepPart::elementwise;
  double factor = 1;
  Tensor tensor;
  bool fits() const { return true; }
};

// sum = a + b; it may be either.
struct Add {
  static constexpr const char* kName = "add";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor a, b, sum;
  bool fits() const {
    return same_shape(a, sum) && same_shape(b, sum) && a.dtype == sum.dtype && b.dtype == sum.dtype;
  }
};

// Sets a matrix to 0 except its blocks: block i has the rows blocks[i], and the columns after those
// of block i - 1, equally many in all blocks. At most kMost: q, k and v are side by side.
struct KeepBlocks {
  static constexpr const char* kName = "blocks to keep";
  static constexpr StepPart kPart = StepPart::elementwise;
  static constexpr std::size_t kMost = 3;
  std::vector<RowRange> blocks;
  Tensor matrix;
  bool fits() const;
};

// Adds 1 to the state's step. `state`, here and below: a StepState in memory of the device.
struct Advance {
  static constexpr const char* kName = "advance";
  static constexpr StepPart kPart = StepPart::elementwise;
  Span state;
  bool fits() const { return holds_state(state); }
};

// Random tokens below `vocabulary`, which depend on the state and on `column` (seed_of()).
struct RandomTokens {
  static constexpr const char* kName = "random tokens";
  static constexpr StepPart kPart = StepPart::elementwise;
  Span state;
  std::int64_t vocabulary = 0;
  std::uint64_t column = 0;
  Tensor tokens;  // int32
  bool fits() const { return holds_state(state) && vocabulary > 0; }
};

// Random normal elements, which depend on the state and on `column` (seed_of()).
struct RandomElements {
  static constexpr const char* kName = "random elements";
  static constexpr StepPart kPart = StepPart::elementwise;
  Span state;
  std::uint64_t column = 0;
  Tensor tensor;
  bool fits() const { return holds_state(state); }
};

// Row r of x is row tokens[r] of the token table, or zeros if that is of a part of the vocabulary
// without the token, plus row r % length of the position table, which may be without elements.
struct Embedding {
  static constexpr const char* kName = "embedding";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor tokens;  // int32 (1, rows)
  Tensor token_table, position_table;
  Tensor x;
  VocabularyPart part = {};  // of the token table
  bool fits() const {
    return tokens.count() == x.rows && token_table.columns == x.columns &&
           (position_table.count() == 0 || position_table.columns == x.columns);
  }
};

// Adds to the token table's gradient, of tokens that it has; writes the position table's or adds to
// it, if that has elements.
struct EmbeddingBackward {
  static constexpr const char* kName = "embedding backward";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor tokens, dx;
  Tensor dtoken_table, dposition_table;
  Accumulate positions = Accumulate::no;
  VocabularyPart part = {};
  bool fits() const { return Embedding{tokens, dtoken_table, dposition_table, dx}.fits(); }
};

inline constexpr std::int64_t kMostChosenExperts = 32;  // of a token

// Of each token the experts of its `chosen` largest logits, by falling logits, of equal ones the
// lower expert first, and their weights: the softmax over all experts, divided by the sum of the
// chosen ones where `normalised`. `routing` (tokens, 2 * chosen), int32: in each row the experts,
// and behind them the bits of their weights, fp32. `logits` (tokens, experts) are fp32 or bf16.
struct ChooseExperts {
  static constexpr const char* kName = "choose experts";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor logits;
  bool normalised = false;
  Tensor routing;
  std::int64_t chosen() const { return routing.columns / 2; }
  bool fits() const {
    return (logits.dtype == DType::fp32 || logits.dtype == DType::bf16) &&
           routing.dtype == DType::int32 && logits.rows == routing.rows &&
           routing.columns % 2 == 0 && chosen() > 0 &&
           chosen() <= std::min(logits.columns, kMostChosenExperts);
  }
};

// Sorts what tokens have chosen by groups, and within a group by tokens. The first `chosen` columns
// of a row of `choices`, int32, are a token's choices; choice c belongs to group
// (c - first) / per_group, and one outside of the groups is left out. So an entry is a choice; with
// `once`, which a token's choices in one group become together, it is a token in a group. Entries
// for which `tokens` has no room are left out.
struct GroupRows {
  static constexpr const char* kName = "group rows";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor choices;
  std::int64_t chosen = 0, first = 0, groups = 0, per_group = 1;
  bool once = false;
  Tensor tokens;  // (1, entries at most), int32: of each entry in order its token
  Tensor sorted;  // likewise its first choice; may be without elements
  Tensor places;  // (tokens, chosen), with `once` (tokens, groups): where the entry stands, or -1
  // (1, groups + 1), int32: where each group's entries begin, and where the last one's end; may be
  // without elements.
  Tensor offsets = {};
  bool fits() const;
};

// Of normalised weights: what changes the loss by a token's weights, (tokens, chosen), fp32, as a
// gradient of its logits, of which those that were not chosen have none.
struct ChooseExpertsBackward {
  static constexpr const char* kName = "choose experts backward";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor routing, dweights;
  Tensor dlogits;
  std::int64_t chosen() const { return routing.columns / 2; }
  bool fits() const {
    return routing.dtype == DType::int32 && dweights.dtype == DType::fp32 &&
           routing.columns == 2 * dweights.columns && routing.rows == dweights.rows &&
           dlogits.rows == routing.rows;
  }
};

// Takes back what experts have no room for: of the choices of each expert all but the first
// `capacity`, in the order of tokens. A choice that is taken back becomes -1; its weight stays.
struct LimitChoices {
  static constexpr const char* kName = "limit choices";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor routing;  // as ChooseExperts writes it
  // As GroupRows writes them for this routing, with a group for each expert.
  Tensor places, offsets;
  std::int64_t capacity = 0;
  bool fits() const {
    return routing.dtype == DType::int32 && routing.columns == 2 * places.columns &&
           routing.rows == places.rows && offsets.count() > 1 && capacity > 0;
  }
};

// Row r of y is row index[r] of x, for all rows of y or the first `count` ones. Rows of any type
// are copied as they are.
struct GatherRows {
  static constexpr const char* kName = "gather rows";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor x;
  Tensor index;  // int32 (1, rows)
  Tensor y;
  Tensor count = {};               // int32 (1, 1); may be without elements
  std::int64_t expected_rows = 0;  // as of GroupedRows
  bool fits() const {
    return index.dtype == DType::int32 && index.count() >= y.rows && x.columns == y.columns &&
           x.dtype == y.dtype &&
           (count.count() == 0 || (count.count() == 1 && count.dtype == DType::int32));
  }
};

// Row t of y is the sum of the rows places[t] of x, added in that order in fp32 and rounded once; a
// place of -1 adds nothing. With `routing`, as ChooseExperts writes it, row places[t][j] is
// multiplied by weight j of the token.
struct CombineRows {
  static constexpr const char* kName = "combine rows";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor x;
  Tensor places;   // int32 (tokens, any number)
  Tensor routing;  // may be without elements
  Tensor y;
  bool weighs() const { return routing.count() > 0; }
  bool fits() const {
    return places.dtype == DType::int32 && places.rows == y.rows && x.columns == y.columns &&
           x.dtype == y.dtype &&
           (!weighs() || (routing.rows == y.rows && routing.columns == 2 * places.columns));
  }
};

// The gradients of a CombineRows with a routing: row places[t][j] of dx is dy[t] times weight j of
// token t, and dweights[t][j] is dy[t] times row places[t][j] of x, of a place of -1 nothing. Rows
// of dx that have no place stay as they are; columns of dweights behind the places' become 0.
struct CombineRowsBackward {
  static constexpr const char* kName = "combine rows backward";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor x, places, routing, dy, dx;
  Tensor dweights;                 // (tokens, as many columns as places have, or more), fp32
  std::int64_t expected_rows = 0;  // as of GroupedRows
  bool fits() const {
    return CombineRows{x, places, routing, dy}.fits() && routing.count() == 2 * places.count() &&
           same_shape(dx, x) && dx.dtype == dy.dtype && dweights.dtype == DType::fp32 &&
           dweights.rows == dy.rows && dweights.columns >= places.columns;
  }
};

// Rows in groups: of group g those from offsets[g] up to offsets[g + 1], int32 (1, groups + 1), as
// GroupRows writes them. Rows behind the last group are neither read nor written. A simulated
// device takes the time of `expected_rows`; 0: of all that there is room for.
struct GroupedRows {
  Tensor offsets;
  std::int64_t expected_rows = 0;
  std::int64_t groups() const { return offsets.count() - 1; }
  // Whether a matrix of weights has as many rows for each group, and as many columns.
  bool divide(const Tensor& weights, std::int64_t rows, std::int64_t columns) const {
    return offsets.dtype == DType::int32 && groups() > 0 && weights.rows == groups() * rows &&
           weights.columns == columns;
  }
};

// y = x w_g^T by groups: w has the groups' matrices (out, in) one below the other.
struct GroupedLinear {
  static constexpr const char* kName = "grouped linear";
  static constexpr StepPart kPart = StepPart::gemm;
  GroupedRows rows;
  Tensor x, w;
  Tensor y;
  bool fits() const { return x.rows == y.rows && rows.divide(w, y.columns, x.columns); }
};

// dx = dy w_g.
struct GroupedLinearBackwardInput {
  static constexpr const char* kName = "grouped linear backward input";
  static constexpr StepPart kPart = StepPart::gemm;
  GroupedRows rows;
  Tensor dy, w;
  Tensor dx;
  bool fits() const { return dy.rows == dx.rows && rows.divide(w, dy.columns, dx.columns); }
};

// dw_g = dy^T x of the group's rows; 0 of a group without rows.
struct GroupedLinearBackwardWeight {
  static constexpr const char* kName = "grouped linear backward weight";
  static constexpr StepPart kPart = StepPart::gemm;
  GroupedRows rows;
  Tensor dy, x;
  Tensor dw;
  Accumulate accumulate = Accumulate::no;
  bool fits() const { return dy.rows == x.rows && rows.divide(dw, dy.columns, x.columns); }
};

// Rows that travel in fp8: of the elements of a row first all values, in E4M3, and then a scale,
// fp32, of each kScaledElements of them. As bytes: int8.
inline constexpr std::int64_t kScaledElements = 128;
inline std::int64_t bytes_of_fp8_row(std::int64_t columns) {
  return columns + columns / kScaledElements * 4;
}

// y: the rows of x, of a multiple of kScaledElements, in fp8, scaled as Quantise does it.
struct QuantiseRows {
  static constexpr const char* kName = "quantise rows";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor x, y;
  bool fits() const {
    return x.columns % kScaledElements == 0 && y.dtype == DType::int8 && y.rows == x.rows &&
           y.columns == bytes_of_fp8_row(x.columns);
  }
};

// Row r of y is row index[r] of x, which are rows in fp8: values times their scales.
struct GatherFp8Rows {
  static constexpr const char* kName = "gather fp8 rows";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor x;
  Tensor index;  // int32 (1, rows)
  Tensor y;
  bool fits() const {
    return y.columns % kScaledElements == 0 && x.dtype == DType::int8 &&
           x.columns == bytes_of_fp8_row(y.columns) && index.dtype == DType::int32 &&
           index.count() >= y.rows;
  }
};

// LayerNorm: y = (x - mean) / sqrt(variance + 1e-5) * weight + bias.
// RMSNorm: y = x / sqrt(mean of x^2 + 1e-6) * weight.
struct Norm {
  static constexpr StepPart kPart = StepPart::norm;
  NormTensors norm;
  Tensor y;
  const char* name() const { return norm.centred() ? "layer norm" : "rms norm"; }
  bool fits() const { return norm.fit(y); }
};

// Writes dx or adds to it, as `accumulate` says, and the gradients of weight and bias, as
// `gradients` says. dx may be dy.
struct NormBackward {
  static constexpr StepPart kPart = StepPart::norm;
  NormTensors norm;
  Tensor dy, dx;
  Accumulate accumulate = Accumulate::no, gradients = Accumulate::no;
  const char* name() const { return norm.centred() ? "layer norm backward" : "rms norm backward"; }
  bool fits() const { return norm.fit(dy) && norm.fit(dx); }
};

// y (rows, out) = x (rows, in) w^T, w (out, in).
struct LinearForward {
  static constexpr const char* kName = "linear";
  static constexpr StepPart kPart = StepPart::gemm;
  Tensor x, w, y;
  bool fits() const { return x.columns == w.columns && y.rows == x.rows && y.columns == w.rows; }
};

// y = residual + x w^T; y may be the residual.
struct LinearAdd {
  static constexpr const char* kName = "linear with a residual";
  static constexpr StepPart kPart = StepPart::gemm;
  Tensor x, w, residual, y;
  bool fits() const { return LinearForward{x, w, y}.fits() && same_shape(residual, y); }
};

// dx = dy w, or dx += dy w.
struct LinearBackwardInput {
  static constexpr const char* kName = "linear backward by its input";
  static constexpr StepPart kPart = StepPart::gemm;
  Tensor dy, w, dx;
  Accumulate accumulate = Accumulate::no;
  bool fits() const {
    return dy.columns == w.rows && dx.rows == dy.rows && dx.columns == w.columns;
  }
};

// dw = dy^T x, or dw += dy^T x.
struct LinearBackwardWeight {
  static constexpr const char* kName = "linear backward by its weight";
  static constexpr StepPart kPart = StepPart::gemm;
  Tensor dy, x, dw;
  Accumulate accumulate = Accumulate::no;
  bool fits() const {
    return dy.rows == x.rows && dw.rows == dy.columns && dw.columns == x.columns;
  }
};

// GELU in the tanh form.
struct Gelu {
  static constexpr const char* kName = "gelu";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor x, y;
  bool fits() const { return x.count() == y.count(); }
};

// dx may be dy.
struct GeluBackward {
  static constexpr const char* kName = "gelu backward";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor x, dy, dx;
  bool fits() const { return x.count() == dy.count() && x.count() == dx.count(); }
};

// hidden = x w^T, activated = gelu(hidden): the two operations, which some devices compute by one
// GEMM if that is faster.
struct LinearGelu {
  static constexpr const char* kName = "linear with gelu";
  static constexpr StepPart kPart = StepPart::gemm;
  Tensor x, w, hidden, activated;
  LinearForward linear() const { return {x, w, hidden}; }
  Gelu gelu() const { return {hidden, activated}; }
  bool fits() const { return linear().fits() && gelu().fits(); }
};

// dhidden = (dy w) gelu'(hidden), for a linear whose x was gelu(hidden). Likewise.
struct LinearBackwardGelu {
  static constexpr const char* kName = "linear backward with gelu";
  static constexpr StepPart kPart = StepPart::gemm;
  Tensor dy, w, hidden, dhidden;
  LinearBackwardInput linear() const { return {dy, w, dhidden, Accumulate::no}; }
  GeluBackward gelu() const { return {hidden, dhidden, dhidden}; }
  bool fits() const { return linear().fits() && gelu().fits(); }
};

// `magnitude` (1, 1), fp32: the largest absolute value of x's elements; NaN if one is NaN.
struct Magnitude {
  static constexpr const char* kName = "magnitude";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor x, magnitude;
  bool fits() const { return magnitude.count() == 1; }
};

// Converts x to fp8: the scale is magnitude / 448, or 1 if that is 0, and the values are x * (448
// / magnitude), rounded to nearest even and clamped to 448 (E5M2: 57344 instead of 448). NaN
// stays NaN. If the magnitude is not finite, products of the tensor are not finite either.
struct Quantise {
  static constexpr const char* kName = "quantise";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor x, magnitude;
  Quantised to;
  bool fits() const { return to.fits(x, magnitude); }
};

// y (m, n) = a b^T, or a b^T + addend if the addend (m, n) has elements, with a (m, k) and b (n,
// k) in E4M3; a may be E5M2. The addend may be y. y and the addend have the same type, fp32 or
// bf16. On GPUs m, n and k are multiples of 16.
struct MultiplyScaled {
  static constexpr const char* kName = "product of quantised tensors";
  static constexpr StepPart kPart = StepPart::gemm;
  ScaledTensor a, b;
  Tensor addend, y;
  Sums sums = Sums::precise;
  bool fits() const;
};

struct Relu {
  static constexpr const char* kName = "relu";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor x, y;
  bool fits() const { return x.count() == y.count(); }
};

// `y`: relu's result. dx may be dy.
struct ReluBackward {
  static constexpr const char* kName = "relu backward";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor y, dy, dx;
  bool fits() const { return y.count() == dy.count() && y.count() == dx.count(); }
};

// y (rows, columns) = gate * sigmoid(gate) * up; `gate_up` (rows, 2 * columns): in each row the
// gate's columns and after them up's. With `rows` of groups those alone. A y in fp8_e4m3 has its
// elements times `factor`, a scale that is known beforehand, saturated at 448.
struct SwiGlu {
  static constexpr const char* kName = "swiglu";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor gate_up, y;
  GroupedRows rows = {};
  float factor = 1;
  bool makes_fp8() const { return y.dtype == DType::fp8_e4m3; }
  bool fits() const {
    return gate_up.rows == y.rows && gate_up.columns == 2 * y.columns &&
           (makes_fp8() || (y.dtype == gate_up.dtype && factor == 1));
  }
};

// dgate_up may be gate_up. `rows` as of SwiGlu.
struct SwiGluBackward {
  static constexpr const char* kName = "swiglu backward";
  static constexpr StepPart kPart = StepPart::elementwise;
  Tensor gate_up, dy, dgate_up;
  GroupedRows rows = {};
  bool fits() const { return SwiGlu{gate_up, dy}.fits() && same_shape(dgate_up, gate_up); }
};

// `rotated`, shaped as qkv, has q, k and v. Of each head x of q and k, with
// n = x / sqrt(mean of x^2 + 1e-6) * weight, i < head_dim / 2, j = i + head_dim / 2 and the angle
// a = t * theta^(-2i / head_dim) of token t of its sequence:
//   rotated[i] = n[i] * cos(a) - n[j] * sin(a), rotated[j] = n[j] * cos(a) + n[i] * sin(a)
// v is copied.
struct Rotate {
  static constexpr const char* kName = "rotate";
  static constexpr StepPart kPart = StepPart::norm;
  RotaryTensors tensors;
  Tensor rotated;
  bool fits() const { return tensors.fit(rotated); }
};

// dqkv from the gradient of `rotated`, which it may be. Writes the gradients of the weights, or
// adds to them.
struct RotateBackward {
  static constexpr const char* kName = "rotate backward";
  static constexpr StepPart kPart = StepPart::norm;
  RotaryTensors tensors;
  Tensor drotated, dqkv;
  Accumulate gradients = Accumulate::no;
  bool fits() const {
    return tensors.fit(drotated) && tensors.fit(dqkv) && tensors.gradients_fit();
  }
};

struct Attention {
  static constexpr const char* kName = "attention";
  static constexpr StepPart kPart = StepPart::attention;
  AttentionTensors tensors;
  bool fits() const { return tensors.fit(); }
};

struct AttentionBackward {
  static constexpr const char* kName = "attention backward";
  static constexpr StepPart kPart = StepPart::attention;
  AttentionTensors tensors;
  Tensor dout, dqkv;
  bool fits() const {
    return tensors.fit() && dout.count() == tensors.out.count() &&
           dqkv.count() == tensors.qkv.count();
  }
};

// The loss of some rows of a batch of `batch_rows` rows, whose logits are computed a piece at a
// time: of each row in `row_losses`. Replaces the logits by the gradient of the mean over the
// batch, which Mean takes of all row losses. Columns from `vocabulary` on are padding.
struct CrossEntropyPiece {
  static constexpr const char* kName = "cross entropy of a piece";
  static constexpr StepPart kPart = StepPart::loss;
  Tensor logits;
  std::int64_t vocabulary = 0;
  Tensor targets;  // int32 (1, rows)
  std::int64_t batch_rows = 0;
  Tensor row_losses;  // (1, rows), fp32
  bool fits() const {
    return targets.count() == logits.rows && row_losses.count() == logits.rows &&
           vocabulary <= logits.columns && batch_rows >= logits.rows;
  }
};

// Of logits of a part of the vocabulary, whose other columns are on other ranks: of each row in
// `sums` (rows, kFields), fp32, the maximum, the sum of exp(logit - maximum), and the target's
// logit or 0 if that is on another rank. Columns from `columns` on are padding.
struct CrossEntropySums {
  static constexpr const char* kName = "sums of a part's cross entropy";
  static constexpr StepPart kPart = StepPart::loss;
  static constexpr std::int64_t kFields = 3;
  Tensor logits;
  std::int64_t columns = 0;
  Tensor targets;  // int32 (1, rows)
  VocabularyPart part;
  Tensor sums;
  bool fits() const {
    return targets.count() == logits.rows && sums.rows == logits.rows && sums.columns == kFields &&
           columns > 0 && columns <= logits.columns;
  }
};

// CrossEntropyPiece of such a part, with the sums of all ranks, by rank.
struct CrossEntropyOfPart {
  static constexpr const char* kName = "cross entropy of a part";
  static constexpr StepPart kPart = StepPart::loss;
  CrossEntropySums own;  // `sums`: (ranks * rows, kFields)
  std::int64_t batch_rows = 0;
  Tensor row_losses;  // (1, rows), fp32
  std::int64_t ranks() const { return own.sums.rows / own.logits.rows; }
  bool fits() const {
    const std::int64_t rows = own.logits.rows;
    return own.targets.count() == rows && row_losses.count() == rows && batch_rows >= rows &&
           own.sums.rows % rows == 0 && own.sums.columns == CrossEntropySums::kFields &&
           own.columns > 0 && own.columns <= own.logits.columns;
  }
};

// The mean of all elements, fp32, in `mean` (1, 1), fp32.
struct Mean {
  static constexpr const char* kName = "mean";
  static constexpr StepPart kPart = StepPart::loss;
  Tensor values, mean;
  bool fits() const { return mean.count() == 1; }
};

// CrossEntropyPiece of a whole batch, with the mean of its row losses in `loss` (1, 1), fp32.
struct CrossEntropy {
  static constexpr const char* kName = "cross entropy";
  static constexpr StepPart kPart = StepPart::loss;
  Tensor logits;
  std::int64_t vocabulary = 0;
  Tensor targets, row_losses, loss;
  CrossEntropyPiece piece() const { return {logits, vocabulary, targets, logits.rows, row_losses}; }
  Mean mean() const { return {row_losses, loss}; }
  bool fits() const { return piece().fits() && mean().fits(); }
};

// The mean of (prediction - target)^2, of each row in `row_losses` (1, rows), fp32, and of all in
// `loss` (1, 1), fp32. Replaces the prediction by the mean's gradient.
struct MeanSquaredError {
  static constexpr const char* kName = "mean squared error";
  static constexpr StepPart kPart = StepPart::loss;
  Tensor prediction, target, row_losses, loss;
  bool fits() const {
    return prediction.count() == target.count() && row_losses.count() == prediction.rows &&
           loss.count() == 1;
  }
};

// `sum` (1, 1), fp32: of the squares of all elements of all gradients.
struct SumOfSquares {
  static constexpr const char* kName = "sum of squares";
  static constexpr StepPart kPart = StepPart::optimizer;
  std::vector<Tensor> gradients;
  Tensor sum;
  bool fits() const { return !gradients.empty() && sum.count() == 1; }
};

// `norm` (1, 1), fp32: `scale` times the root of `squares` (1, 1), fp32, the Euclidean norm of
// all gradients together. Sets the state's gradient_factor to `scale`, and where the norm is
// above `limit`, to less, so that what the optimizer takes has the norm `limit`.
struct Clip {
  static constexpr const char* kName = "clip";
  static constexpr StepPart kPart = StepPart::optimizer;
  Span state;
  Tensor squares;
  double scale = 1, limit = 0;
  Tensor norm;
  bool fits() const { return holds_state(state) && squares.count() == 1 && norm.count() == 1; }
};

struct AdamW {
  static constexpr const char* kName = "adamw";
  static constexpr StepPart kPart = StepPart::optimizer;
  AdamWOptions options;
  Span state;
  OptimizerTensors tensors;
  bool fits() const;
};

// parameters -= learning_rate * gradient_factor * gradients, by the state's.
struct Sgd {
  static constexpr const char* kName = "sgd";
  static constexpr StepPart kPart = StepPart::optimizer;
  Span state;
  OptimizerTensors tensors;
  bool fits() const { return holds_state(state) && tensors.fit(); }
};

// Any of them.
using AnyOperation =
    std::variant<FillNormal, FillValue, Scale, Add, KeepBlocks, Advance, RandomTokens,
                 RandomElements, Embedding, EmbeddingBackward, ChooseExperts, ChooseExpertsBackward,
                 GroupRows, GatherRows, CombineRows, CombineRowsBackward, LimitChoices,
                 QuantiseRows, GatherFp8Rows, GroupedLinear, GroupedLinearBackwardInput,
                 GroupedLinearBackwardWeight, Norm, NormBackward, LinearForward, LinearAdd,
                 LinearBackwardInput, LinearBackwardWeight, Gelu, GeluBackward, LinearGelu,
                 LinearBackwardGelu, Magnitude, Quantise, MultiplyScaled, Relu, ReluBackward,
                 SwiGlu, SwiGluBackward, Rotate, RotateBackward, Attention, AttentionBackward,
                 CrossEntropyPiece, CrossEntropySums, CrossEntropyOfPart, Mean, CrossEntropy,
                 MeanSquaredError, SumOfSquares, Clip, AdamW, Sgd>;

template <typename Operation>
const char* name_of(const Operation&) {
  return Operation::kName;
}
inline const char* name_of(const Norm& norm) { return norm.name(); }
inline const char* name_of(const NormBackward& norm) { return norm.name(); }

}  // namespace duet
