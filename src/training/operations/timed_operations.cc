#include "training/operations/timed_operations.h"

#include "core/names.h"

namespace duet {
namespace {

constexpr double kTimedStepSeconds = 600;

constexpr NamedValue<StepPart> kParts[] = {
    {StepPart::gemm, "gemm"}, {StepPart::attention, "attention"},
    {StepPart::norm, "norm"}, {StepPart::elementwise, "elementwise"},
    {StepPart::loss, "loss"}, {StepPart::optimizer, "optimizer"}};

}  // namespace

const char* name(StepPart part) { return name_of(kParts, part); }

TimedOperations::TimedOperations(Device& device, const OperationsOptions& options)
    : device_(device), inner_(make_operations(device, options)) {}

std::array<double, kStepParts> TimedOperations::time(Stream& stream,
                                                     const std::function<void()>& enqueue) {
  StepTimeline timeline(device_);
  timeline.begin(stream);
  set_timeline(&timeline);
  enqueue();
  set_timeline(nullptr);
  stream.synchronize(kTimedStepSeconds);
  std::array<double, kStepParts> seconds{};
  for (const StepTimeline::Part& each : timeline.parts()) {
    const StepPart part = parse_name(kParts, "unknown part of a step", each.what);
    seconds[static_cast<std::size_t>(part)] += each.end - each.begin;
  }
  return seconds;
}

void TimedOperations::mark(Stream& stream, StepPart part) {
  if (is_timed()) timeline_->ended(stream, name(part));
}

void TimedOperations::fill_normal(Stream& stream, std::uint64_t seed, std::int64_t first,
                                  double deviation, const Tensor& tensor) {
  inner_->fill_normal(stream, seed, first, deviation, tensor);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::fill_value(Stream& stream, double value, const Tensor& tensor) {
  inner_->fill_value(stream, value, tensor);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::scale(Stream& stream, double factor, const Tensor& tensor) {
  inner_->scale(stream, factor, tensor);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::keep_blocks(Stream& stream, const std::vector<RowRange>& blocks,
                                  const Tensor& matrix) {
  inner_->keep_blocks(stream, blocks, matrix);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::advance(Stream& stream, const Span& state) {
  inner_->advance(stream, state);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::random_tokens(Stream& stream, const Span& state, std::int64_t vocabulary,
                                    std::uint64_t column, const Tensor& tokens) {
  inner_->random_tokens(stream, state, vocabulary, column, tokens);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::embedding(Stream& stream, const Tensor& tokens, const Tensor& token_table,
                                const Tensor& position_table, const Tensor& x) {
  inner_->embedding(stream, tokens, token_table, position_table, x);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::embedding_backward(Stream& stream, const Tensor& tokens, const Tensor& dx,
                                         const Tensor& dtoken_table, const Tensor& dposition_table,
                                         Accumulate positions) {
  inner_->embedding_backward(stream, tokens, dx, dtoken_table, dposition_table, positions);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::layer_norm(Stream& stream, const NormTensors& norm, const Tensor& y) {
  inner_->layer_norm(stream, norm, y);
  mark(stream, StepPart::norm);
}

void TimedOperations::layer_norm_backward(Stream& stream, const NormTensors& norm, const Tensor& dy,
                                          const Tensor& dx, Accumulate accumulate,
                                          Accumulate gradients) {
  inner_->layer_norm_backward(stream, norm, dy, dx, accumulate, gradients);
  mark(stream, StepPart::norm);
}

void TimedOperations::rms_norm(Stream& stream, const RmsNormTensors& norm, const Tensor& y) {
  inner_->rms_norm(stream, norm, y);
  mark(stream, StepPart::norm);
}

void TimedOperations::rms_norm_backward(Stream& stream, const RmsNormTensors& norm,
                                        const Tensor& dy, const Tensor& dx, Accumulate accumulate,
                                        Accumulate gradients) {
  inner_->rms_norm_backward(stream, norm, dy, dx, accumulate, gradients);
  mark(stream, StepPart::norm);
}

void TimedOperations::linear(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y) {
  inner_->linear(stream, x, w, y);
  mark(stream, StepPart::gemm);
}

void TimedOperations::linear_add(Stream& stream, const Tensor& x, const Tensor& w,
                                 const Tensor& residual, const Tensor& y) {
  inner_->linear_add(stream, x, w, residual, y);
  mark(stream, StepPart::gemm);
}

void TimedOperations::linear_backward_input(Stream& stream, const Tensor& dy, const Tensor& w,
                                            const Tensor& dx, Accumulate accumulate) {
  inner_->linear_backward_input(stream, dy, w, dx, accumulate);
  mark(stream, StepPart::gemm);
}

void TimedOperations::linear_gelu(Stream& stream, const Tensor& x, const Tensor& w,
                                  const Tensor& hidden, const Tensor& activated) {
  if (is_timed() && !inner_->fuses_gelu(x, hidden)) {
    linear(stream, x, w, hidden);
    return gelu(stream, hidden, activated);
  }
  inner_->linear_gelu(stream, x, w, hidden, activated);
  mark(stream, StepPart::gemm);
}

void TimedOperations::linear_backward_gelu(Stream& stream, const Tensor& dy, const Tensor& w,
                                           const Tensor& hidden, const Tensor& dhidden) {
  if (is_timed() && !inner_->fuses_backward_gelu(dy, hidden)) {
    linear_backward_input(stream, dy, w, dhidden, Accumulate::no);
    return gelu_backward(stream, hidden, dhidden, dhidden);
  }
  inner_->linear_backward_gelu(stream, dy, w, hidden, dhidden);
  mark(stream, StepPart::gemm);
}

void TimedOperations::linear_backward_weight(Stream& stream, const Tensor& dy, const Tensor& x,
                                             const Tensor& dw, Accumulate accumulate) {
  inner_->linear_backward_weight(stream, dy, x, dw, accumulate);
  mark(stream, StepPart::gemm);
}

void TimedOperations::magnitude(Stream& stream, const Tensor& x, const Tensor& magnitude) {
  inner_->magnitude(stream, x, magnitude);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::quantise(Stream& stream, const Tensor& x, const Tensor& magnitude,
                               const Quantised& to) {
  inner_->quantise(stream, x, magnitude, to);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::multiply_scaled(Stream& stream, const ScaledTensor& a, const ScaledTensor& b,
                                      const Tensor& addend, const Tensor& y, Sums sums) {
  inner_->multiply_scaled(stream, a, b, addend, y, sums);
  mark(stream, StepPart::gemm);
}

void TimedOperations::gelu(Stream& stream, const Tensor& x, const Tensor& y) {
  inner_->gelu(stream, x, y);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::gelu_backward(Stream& stream, const Tensor& x, const Tensor& dy,
                                    const Tensor& dx) {
  inner_->gelu_backward(stream, x, dy, dx);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::rotate(Stream& stream, const RotaryTensors& tensors, const Tensor& rotated) {
  inner_->rotate(stream, tensors, rotated);
  mark(stream, StepPart::norm);
}

void TimedOperations::rotate_backward(Stream& stream, const RotaryTensors& tensors,
                                      const Tensor& drotated, const Tensor& dqkv,
                                      Accumulate gradients) {
  inner_->rotate_backward(stream, tensors, drotated, dqkv, gradients);
  mark(stream, StepPart::norm);
}

void TimedOperations::swiglu(Stream& stream, const Tensor& gate_up, const Tensor& y) {
  inner_->swiglu(stream, gate_up, y);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::swiglu_backward(Stream& stream, const Tensor& gate_up, const Tensor& dy,
                                      const Tensor& dgate_up) {
  inner_->swiglu_backward(stream, gate_up, dy, dgate_up);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::attention(Stream& stream, const AttentionTensors& tensors) {
  inner_->attention(stream, tensors);
  mark(stream, StepPart::attention);
}

void TimedOperations::attention_backward(Stream& stream, const AttentionTensors& tensors,
                                         const Tensor& dout, const Tensor& dqkv) {
  inner_->attention_backward(stream, tensors, dout, dqkv);
  mark(stream, StepPart::attention);
}

void TimedOperations::cross_entropy(Stream& stream, const Tensor& logits, std::int64_t vocabulary,
                                    const Tensor& targets, const Tensor& row_losses,
                                    const Tensor& loss) {
  inner_->cross_entropy(stream, logits, vocabulary, targets, row_losses, loss);
  mark(stream, StepPart::loss);
}

void TimedOperations::cross_entropy_piece(Stream& stream, const Tensor& logits,
                                          std::int64_t vocabulary, const Tensor& targets,
                                          std::int64_t batch_rows, const Tensor& row_losses) {
  inner_->cross_entropy_piece(stream, logits, vocabulary, targets, batch_rows, row_losses);
  mark(stream, StepPart::loss);
}

void TimedOperations::mean(Stream& stream, const Tensor& values, const Tensor& mean) {
  inner_->mean(stream, values, mean);
  mark(stream, StepPart::loss);
}

void TimedOperations::sum_of_squares(Stream& stream, const std::vector<Tensor>& gradients,
                                     const Tensor& sum) {
  inner_->sum_of_squares(stream, gradients, sum);
  mark(stream, StepPart::optimizer);
}

void TimedOperations::clip(Stream& stream, const Span& state, const Tensor& squares, double scale,
                           double limit, const Tensor& norm) {
  inner_->clip(stream, state, squares, scale, limit, norm);
  mark(stream, StepPart::optimizer);
}

void TimedOperations::adamw(Stream& stream, const AdamWOptions& options, const Span& state,
                            const OptimizerTensors& tensors) {
  inner_->adamw(stream, options, state, tensors);
  mark(stream, StepPart::optimizer);
}

void TimedOperations::random_elements(Stream& stream, const Span& state, std::uint64_t column,
                                      const Tensor& tensor) {
  inner_->random_elements(stream, state, column, tensor);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::relu(Stream& stream, const Tensor& x, const Tensor& y) {
  inner_->relu(stream, x, y);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::relu_backward(Stream& stream, const Tensor& y, const Tensor& dy,
                                    const Tensor& dx) {
  inner_->relu_backward(stream, y, dy, dx);
  mark(stream, StepPart::elementwise);
}

void TimedOperations::mean_squared_error(Stream& stream, const Tensor& prediction,
                                         const Tensor& target, const Tensor& row_losses,
                                         const Tensor& loss) {
  inner_->mean_squared_error(stream, prediction, target, row_losses, loss);
  mark(stream, StepPart::loss);
}

void TimedOperations::sgd(Stream& stream, const Span& state, const OptimizerTensors& tensors) {
  inner_->sgd(stream, state, tensors);
  mark(stream, StepPart::optimizer);
}

}  // namespace duet
