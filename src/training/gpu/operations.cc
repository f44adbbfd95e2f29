#include "training/gpu/operations.h"

#include <fmt/format.h>

#include <map>

#include "core/error.h"
#include "training/gpu/attention.h"
#include "training/gpu/kernels.h"
#include "training/operations/linear_operations.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kNormBlocksPerUnit = 2;
constexpr int kRotaryBlocksPerUnit = 4;
constexpr int kClipBlocksPerUnit = 16;
constexpr int kMagnitudeBlocksPerUnit = 8;
constexpr std::int64_t kFp8Multiple = 16;  // cuBLASLt: 16 bytes
constexpr double kPlanningSeconds = 120;

class GpuOperations : public LinearOperations {
 public:
  GpuOperations(Device& device, const OperationsOptions& options, std::uint64_t most_shared)
      : LinearOperations(device, options),
        device_(device),
        most_shared_(most_shared),
        attention_(device, options.deterministic) {}

  bool computes(const Tensor&) const override { return true; }

  std::uint64_t workspace_bytes() const override {
    return LinearOperations::workspace_bytes() + partials_.bytes() + attention_.workspace_bytes();
  }

  std::map<std::string, std::string> notes() const override {
    if (attention_.note().empty()) return {};
    return {{"attention", attention_.note()}};
  }

  void fill_normal(Stream& stream, std::uint64_t seed, std::int64_t first, double deviation,
                   const Tensor& tensor) override {
    launch_fill_normal(seed, first, deviation, tensor, on_device(stream));
  }

  void fill_value(Stream& stream, double value, const Tensor& tensor) override {
    launch_fill_value(value, tensor, on_device(stream));
  }

  void scale(Stream& stream, double factor, const Tensor& tensor) override {
    launch_scale(factor, tensor, on_device(stream));
  }

  void keep_blocks(Stream& stream, const std::vector<RowRange>& blocks,
                   const Tensor& matrix) override {
    require(blocks_fit(blocks, matrix), "blocks to keep");
    launch_keep_blocks(blocks, matrix, on_device(stream));
  }

  void advance(Stream& stream, const Span& state) override {
    launch_advance(state, on_device(stream));
  }

  void random_tokens(Stream& stream, const Span& state, std::int64_t vocabulary,
                     std::uint64_t column, const Tensor& tokens) override {
    launch_random_tokens(state, vocabulary, column, tokens, on_device(stream));
  }

  void embedding(Stream& stream, const Tensor& tokens, const Tensor& token_table,
                 const Tensor& position_table, const Tensor& x) override {
    require_columns(x);
    require(token_table.columns == x.columns && is_position_table(position_table, x), "embedding");
    launch_embedding(tokens, token_table, position_table, x, on_device(stream));
  }

  void embedding_backward(Stream& stream, const Tensor& tokens, const Tensor& dx,
                          const Tensor& dtoken_table, const Tensor& dposition_table,
                          Accumulate positions) override {
    require_columns(dx);
    require(dtoken_table.columns == dx.columns && is_position_table(dposition_table, dx),
            "embedding backward");
    void* const occurrences = partials(stream, kOccurrenceWords * dtoken_table.rows);
    launch_embedding_backward(tokens, dx, dtoken_table, dposition_table, positions, occurrences,
                              on_device(stream));
  }

  void layer_norm(Stream& stream, const NormTensors& norm, const Tensor& y) override {
    require_norm(norm.x, y, "layer norm");
    launch_layer_norm(norm, y, on_device(stream));
  }

  void layer_norm_backward(Stream& stream, const NormTensors& norm, const Tensor& dy,
                           const Tensor& dx, Accumulate accumulate, Accumulate gradients) override {
    require_norm(norm.x, dy, "layer norm backward");
    require_norm(norm.x, dx, "layer norm backward");
    const int count = blocks(kNormBlocksPerUnit);
    float* const sums = partials(stream, count * 2 * dx.columns);
    launch_layer_norm_backward(norm, dy, dx, accumulate, gradients, sums, count, on_device(stream));
  }

  void rms_norm(Stream& stream, const RmsNormTensors& norm, const Tensor& y) override {
    require_norm(norm.x, y, "rms norm");
    launch_rms_norm(norm, y, on_device(stream));
  }

  void rms_norm_backward(Stream& stream, const RmsNormTensors& norm, const Tensor& dy,
                         const Tensor& dx, Accumulate accumulate, Accumulate gradients) override {
    require_norm(norm.x, dy, "rms norm backward");
    require_norm(norm.x, dx, "rms norm backward");
    const int count = blocks(kNormBlocksPerUnit);
    float* const sums = partials(stream, count * dx.columns);
    launch_rms_norm_backward(norm, dy, dx, accumulate, gradients, sums, count, on_device(stream));
  }

  void random_elements(Stream& stream, const Span& state, std::uint64_t column,
                       const Tensor& tensor) override {
    launch_random_elements(state, column, tensor, on_device(stream));
  }

  void relu(Stream& stream, const Tensor& x, const Tensor& y) override {
    require_columns(x);
    require(x.count() == y.count(), "relu");
    launch_relu(x, y, on_device(stream));
  }

  void relu_backward(Stream& stream, const Tensor& y, const Tensor& dy, const Tensor& dx) override {
    require_columns(y);
    require(y.count() == dy.count() && y.count() == dx.count(), "relu backward");
    launch_relu_backward(y, dy, dx, on_device(stream));
  }

  void gelu(Stream& stream, const Tensor& x, const Tensor& y) override {
    require_columns(x);
    require(x.count() == y.count(), "gelu");
    launch_gelu(x, y, on_device(stream));
  }

  void gelu_backward(Stream& stream, const Tensor& x, const Tensor& dy, const Tensor& dx) override {
    require_columns(x);
    require(x.count() == dy.count() && x.count() == dx.count(), "gelu backward");
    launch_gelu_backward(x, dy, dx, on_device(stream));
  }

  void magnitude(Stream& stream, const Tensor& x, const Tensor& magnitude) override {
    require_columns(x);
    require(magnitude.count() == 1, "magnitude");
    launch_magnitude(x, magnitude, blocks(kMagnitudeBlocksPerUnit), on_device(stream));
  }

  void quantise(Stream& stream, const Tensor& x, const Tensor& magnitude,
                const Quantised& to) override {
    require(to.fits(x, magnitude), "quantise");
    if (x.rows % kFp8Multiple != 0 || x.columns % kFp8Multiple != 0) {
      throw Unavailable(fmt::format("a tensor of {} x {}: GPUs multiply fp8 of multiples of {}",
                                    x.rows, x.columns, kFp8Multiple));
    }
    launch_quantise(x, magnitude, to, on_device(stream));
  }

  void rotate(Stream& stream, const RotaryTensors& tensors, const Tensor& rotated) override {
    require_rotary(tensors, rotated, "rotate");
    launch_rotate(tensors, rotated, on_device(stream));
  }

  void rotate_backward(Stream& stream, const RotaryTensors& tensors, const Tensor& drotated,
                       const Tensor& dqkv, Accumulate gradients) override {
    require_rotary(tensors, drotated, "rotate backward");
    require_rotary(tensors, dqkv, "rotate backward");
    require(tensors.gradients_fit(), "rotate backward");
    const int count = blocks(kRotaryBlocksPerUnit);
    float* const sums = partials(stream, count * 2 * tensors.shape.head_dim);
    launch_rotate_backward(tensors, drotated, dqkv, gradients, sums, count, on_device(stream));
  }

  void swiglu(Stream& stream, const Tensor& gate_up, const Tensor& y) override {
    require_columns(y);
    require(gate_up.rows == y.rows && gate_up.columns == 2 * y.columns, "swiglu");
    launch_swiglu(gate_up, y, on_device(stream));
  }

  void swiglu_backward(Stream& stream, const Tensor& gate_up, const Tensor& dy,
                       const Tensor& dgate_up) override {
    require_columns(dy);
    require(gate_up.rows == dy.rows && gate_up.columns == 2 * dy.columns &&
                dgate_up.rows == dy.rows && dgate_up.columns == gate_up.columns,
            "swiglu backward");
    launch_swiglu_backward(gate_up, dy, dgate_up, on_device(stream));
  }

  void attention(Stream& stream, const AttentionTensors& tensors) override {
    require(tensors.fit(), "attention");
    attention_.forward(on_device(stream), tensors);
  }

  void attention_backward(Stream& stream, const AttentionTensors& tensors, const Tensor& dout,
                          const Tensor& dqkv) override {
    require(
        tensors.fit() && dout.count() == tensors.out.count() && dqkv.count() == tensors.qkv.count(),
        "attention backward");
    attention_.backward(on_device(stream), tensors, dout, dqkv);
  }

  void cross_entropy(Stream& stream, const Tensor& logits, std::int64_t vocabulary,
                     const Tensor& targets, const Tensor& row_losses, const Tensor& loss) override {
    cross_entropy_piece(stream, logits, vocabulary, targets, logits.rows, row_losses);
    mean(stream, row_losses, loss);
  }

  void cross_entropy_piece(Stream& stream, const Tensor& logits, std::int64_t vocabulary,
                           const Tensor& targets, std::int64_t batch_rows,
                           const Tensor& row_losses) override {
    require_columns(logits);
    require(targets.count() == logits.rows && row_losses.count() == logits.rows &&
                vocabulary <= logits.columns && batch_rows >= logits.rows,
            "cross entropy");
    launch_cross_entropy_piece(logits, vocabulary, targets, batch_rows, row_losses, most_shared_,
                               on_device(stream));
  }

  void mean(Stream& stream, const Tensor& values, const Tensor& mean) override {
    launch_mean(values, mean, on_device(stream));
  }

  void mean_squared_error(Stream& stream, const Tensor& prediction, const Tensor& target,
                          const Tensor& row_losses, const Tensor& loss) override {
    require_columns(prediction);
    require(prediction.count() == target.count() && row_losses.count() == prediction.rows,
            "mean squared error");
    launch_mean_squared_error(prediction, target, row_losses, loss, on_device(stream));
  }

  void sgd(Stream& stream, const Span& state, const OptimizerTensors& tensors) override {
    require_columns(tensors.parameters);
    launch_sgd(state, tensors, on_device(stream));
  }

  void sum_of_squares(Stream& stream, const std::vector<Tensor>& gradients,
                      const Tensor& sum) override {
    for (const Tensor& each : gradients) require_columns(each);
    const int count = blocks(kClipBlocksPerUnit);
    float* const sums = partials(stream, count * static_cast<std::int64_t>(gradients.size()));
    launch_sum_of_squares(gradients, sum, sums, count, on_device(stream));
  }

  void clip(Stream& stream, const Span& state, const Tensor& squares, double scale, double limit,
            const Tensor& norm) override {
    launch_clip(state, squares, scale, limit, norm, on_device(stream));
  }

  void adamw(Stream& stream, const AdamWOptions& options, const Span& state,
             const OptimizerTensors& tensors) override {
    require_columns(tensors.parameters);
    launch_adamw(options, state, tensors, on_device(stream));
  }

 private:
  // Kernels are launched on the current device.
  Stream& on_device(Stream& stream) const {
    device_.make_current();
    return stream;
  }

  int blocks(int per_unit) const { return per_unit * device_.info().compute_units; }

  // Memory for the sums of blocks, or for words of as many bytes, which each call overwrites.
  float* partials(Stream& stream, std::int64_t count) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(count) * sizeof(float);
    if (partials_.bytes() < bytes) {
      stream.synchronize(kPlanningSeconds);
      partials_ = device_.allocate(bytes);
    }
    return reinterpret_cast<float*>(partials_.span().data);
  }

  static void require_columns(const Tensor& tensor) {
    if (tensor.columns % 8 == 0) return;
    throw Unavailable(
        fmt::format("rows of {} elements: GPUs train with multiples of 8", tensor.columns));
  }

  static void require_rotary(const RotaryTensors& tensors, const Tensor& result,
                             const char* operation) {
    require(tensors.fit(result), operation);
    const std::int64_t head_dim = tensors.shape.head_dim;
    if (head_dim % 16 == 0 && head_dim <= kWidestHead) return;
    throw Unavailable(
        fmt::format("heads of {} elements: GPUs rotate heads of multiples of 16 up to {}", head_dim,
                    kWidestHead));
  }

  static bool is_position_table(const Tensor& table, const Tensor& x) {
    return table.count() == 0 || table.columns == x.columns;
  }

  static void require_norm(const Tensor& x, const Tensor& y, const char* operation) {
    require_columns(y);
    require(x.rows == y.rows && x.columns == y.columns, operation);
    if (y.columns <= kWidestNorm) return;
    throw Unavailable(
        fmt::format("rows of {} elements: norms on GPUs take {} at most", y.columns, kWidestNorm));
  }

  Device& device_;
  std::uint64_t most_shared_;
  Buffer partials_;
  GpuAttention attention_;
};

}  // namespace

std::unique_ptr<Operations> make_gpu_operations(Device& device, const OperationsOptions& options,
                                                std::uint64_t most_shared) {
  return std::make_unique<GpuOperations>(device, options, most_shared);
}

}  // namespace duet::DUET_GPU
