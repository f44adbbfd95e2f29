#pragma once

#include <array>
#include <memory>
#include <vector>

#include "training/operations/operations.h"
#include "training/operations/step_timeline.h"

namespace duet {

// What the time of a step goes to.
enum class StepPart { gemm, attention, norm, elementwise, loss, optimizer };
inline constexpr std::size_t kStepParts = 6;
const char* name(StepPart part);

// Operations that can be timed one by one.
class TimedOperations : public Operations {
 public:
  explicit TimedOperations(Device& device, const OperationsOptions& options = {});

  // Calls `enqueue`, which enqueues operations on the stream, waits for them, and returns the
  // seconds of each part. Their sum is the time from the first operation to the last.
  std::array<double, kStepParts> time(Stream& stream, const std::function<void()>& enqueue);
  // From now on, where each operation ends is written to the timeline, as the name of its part, if
  // there is one. Operations must be enqueued on its main stream.
  void set_timeline(StepTimeline* timeline) { timeline_ = timeline; }

  bool computes(const Tensor& tensor) const override { return inner_->computes(tensor); }
  std::uint64_t workspace_bytes() const override { return inner_->workspace_bytes(); }
  std::map<std::string, std::string> notes() const override { return inner_->notes(); }
  void fill_normal(Stream& stream, std::uint64_t seed, std::int64_t first, double deviation,
                   const Tensor& tensor) override;
  void fill_value(Stream& stream, double value, const Tensor& tensor) override;
  void scale(Stream& stream, double factor, const Tensor& tensor) override;
  void keep_blocks(Stream& stream, const std::vector<RowRange>& blocks,
                   const Tensor& matrix) override;
  void advance(Stream& stream, const Span& state) override;
  void random_tokens(Stream& stream, const Span& state, std::int64_t vocabulary,
                     std::uint64_t column, const Tensor& tokens) override;
  void embedding(Stream& stream, const Tensor& tokens, const Tensor& token_table,
                 const Tensor& position_table, const Tensor& x) override;
  void embedding_backward(Stream& stream, const Tensor& tokens, const Tensor& dx,
                          const Tensor& dtoken_table, const Tensor& dposition_table,
                          Accumulate positions) override;
  void layer_norm(Stream& stream, const NormTensors& norm, const Tensor& y) override;
  void layer_norm_backward(Stream& stream, const NormTensors& norm, const Tensor& dy,
                           const Tensor& dx, Accumulate accumulate, Accumulate gradients) override;
  void rms_norm(Stream& stream, const RmsNormTensors& norm, const Tensor& y) override;
  void rms_norm_backward(Stream& stream, const RmsNormTensors& norm, const Tensor& dy,
                         const Tensor& dx, Accumulate accumulate, Accumulate gradients) override;
  void linear(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y) override;
  void linear_add(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& residual,
                  const Tensor& y) override;
  void linear_backward_input(Stream& stream, const Tensor& dy, const Tensor& w, const Tensor& dx,
                             Accumulate accumulate) override;
  void linear_gelu(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& hidden,
                   const Tensor& activated) override;
  void linear_backward_gelu(Stream& stream, const Tensor& dy, const Tensor& w, const Tensor& hidden,
                            const Tensor& dhidden) override;
  bool fuses_gelu(const Tensor& x, const Tensor& hidden) const override {
    return inner_->fuses_gelu(x, hidden);
  }
  bool fuses_backward_gelu(const Tensor& dy, const Tensor& hidden) const override {
    return inner_->fuses_backward_gelu(dy, hidden);
  }
  void linear_backward_weight(Stream& stream, const Tensor& dy, const Tensor& x, const Tensor& dw,
                              Accumulate accumulate) override;
  void random_elements(Stream& stream, const Span& state, std::uint64_t column,
                       const Tensor& tensor) override;
  void relu(Stream& stream, const Tensor& x, const Tensor& y) override;
  void relu_backward(Stream& stream, const Tensor& y, const Tensor& dy, const Tensor& dx) override;
  void gelu(Stream& stream, const Tensor& x, const Tensor& y) override;
  void gelu_backward(Stream& stream, const Tensor& x, const Tensor& dy, const Tensor& dx) override;
  void magnitude(Stream& stream, const Tensor& x, const Tensor& magnitude) override;
  void quantise(Stream& stream, const Tensor& x, const Tensor& magnitude,
                const Quantised& to) override;
  void multiply_scaled(Stream& stream, const ScaledTensor& a, const ScaledTensor& b,
                       const Tensor& addend, const Tensor& y, Sums sums) override;
  void rotate(Stream& stream, const RotaryTensors& tensors, const Tensor& rotated) override;
  void rotate_backward(Stream& stream, const RotaryTensors& tensors, const Tensor& drotated,
                       const Tensor& dqkv, Accumulate gradients) override;
  void swiglu(Stream& stream, const Tensor& gate_up, const Tensor& y) override;
  void swiglu_backward(Stream& stream, const Tensor& gate_up, const Tensor& dy,
                       const Tensor& dgate_up) override;
  void attention(Stream& stream, const AttentionTensors& tensors) override;
  void attention_backward(Stream& stream, const AttentionTensors& tensors, const Tensor& dout,
                          const Tensor& dqkv) override;
  void cross_entropy(Stream& stream, const Tensor& logits, std::int64_t vocabulary,
                     const Tensor& targets, const Tensor& row_losses, const Tensor& loss) override;
  void cross_entropy_piece(Stream& stream, const Tensor& logits, std::int64_t vocabulary,
                           const Tensor& targets, std::int64_t batch_rows,
                           const Tensor& row_losses) override;
  void mean(Stream& stream, const Tensor& values, const Tensor& mean) override;
  void mean_squared_error(Stream& stream, const Tensor& prediction, const Tensor& target,
                          const Tensor& row_losses, const Tensor& loss) override;
  void sum_of_squares(Stream& stream, const std::vector<Tensor>& gradients,
                      const Tensor& sum) override;
  void clip(Stream& stream, const Span& state, const Tensor& squares, double scale, double limit,
            const Tensor& norm) override;
  void adamw(Stream& stream, const AdamWOptions& options, const Span& state,
             const OptimizerTensors& tensors) override;
  void sgd(Stream& stream, const Span& state, const OptimizerTensors& tensors) override;

 private:
  void mark(Stream& stream, StepPart part);
  bool is_timed() const { return timeline_ != nullptr; }

  Device& device_;
  std::unique_ptr<Operations> inner_;
  StepTimeline* timeline_ = nullptr;
};

}  // namespace duet
