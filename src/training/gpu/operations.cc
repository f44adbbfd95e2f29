// The operations of training on a vendor's GPUs, in fp32 or bf16.
#include <fmt/format.h>

#include <map>

#include "core/error.h"
#include "device/gpu/device.h"
#include "device/gpu/module.h"
#include "training/gpu/kernels.h"
#include "training/linear_operations.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kNormBlocksPerUnit = 2;
constexpr int kClipBlocksPerUnit = 4;
constexpr double kPlanningSeconds = 120;

// Attention by this file's own kernels.
class PlainAttention : public AttentionPlan {
 public:
  explicit PlainAttention(GpuDevice& device) : device_(device) {}

  void forward(Stream& stream, const AttentionTensors& tensors) override {
    device_.use();
    launch_attention(tensors, static_cast<gpuStream_t>(stream.native()));
  }
  void backward(Stream& stream, const AttentionTensors& tensors, const Tensor& dout,
                const Tensor& dqkv) override {
    device_.use();
    launch_attention_backward(tensors, dout, dqkv, static_cast<gpuStream_t>(stream.native()));
  }
  std::uint64_t workspace_bytes() const override { return 0; }

 private:
  GpuDevice& device_;
};

class GpuOperations : public LinearOperations {
 public:
  explicit GpuOperations(GpuDevice& device)
      : LinearOperations(device),
        device_(device),
        norm_blocks_(kNormBlocksPerUnit * device.info().compute_units) {
    int shared = 0;
    DUET_GPU_CHECK(gpuDeviceGetAttribute(&shared, gpuDevAttrMaxSharedMemory, device.ordinal()));
    most_shared_ = static_cast<std::uint64_t>(shared);
  }

  bool computes(const Tensor&) const override { return true; }

  std::uint64_t workspace_bytes() const override {
    std::uint64_t bytes = LinearOperations::workspace_bytes() + partials_.bytes();
    for (const auto& [shape, plan] : attention_) bytes += plan->workspace_bytes();
    return bytes;
  }

  void fill_normal(Stream& stream, std::uint64_t seed, double deviation,
                   const Tensor& tensor) override {
    launch_fill_normal(seed, deviation, tensor, native(stream));
  }

  void fill_value(Stream& stream, double value, const Tensor& tensor) override {
    launch_fill_value(value, tensor, native(stream));
  }

  void advance(Stream& stream, const Span& state) override {
    launch_advance(state, native(stream));
  }

  void random_tokens(Stream& stream, const Span& state, std::int64_t vocabulary,
                     std::uint64_t column, const Tensor& tokens) override {
    launch_random_tokens(state, vocabulary, column, tokens, native(stream));
  }

  void embedding(Stream& stream, const Tensor& tokens, const Tensor& token_table,
                 const Tensor& position_table, const Tensor& x) override {
    require_columns(x);
    require(token_table.columns == x.columns && position_table.columns == x.columns, "embedding");
    launch_embedding(tokens, token_table, position_table, x, native(stream));
  }

  void embedding_backward(Stream& stream, const Tensor& tokens, const Tensor& dx,
                          const Tensor& dtoken_table, const Tensor& dposition_table,
                          Accumulate positions) override {
    require_columns(dx);
    require(dtoken_table.columns == dx.columns && dposition_table.columns == dx.columns,
            "embedding backward");
    launch_embedding_backward(tokens, dx, dtoken_table, dposition_table, positions, native(stream));
  }

  void layer_norm(Stream& stream, const NormTensors& norm, const Tensor& y) override {
    require_norm(norm, y);
    launch_layer_norm(norm, y, native(stream));
  }

  void layer_norm_backward(Stream& stream, const NormTensors& norm, const Tensor& dy,
                           const Tensor& dx, Accumulate accumulate, Accumulate gradients) override {
    require_norm(norm, dy);
    require_norm(norm, dx);
    float* const sums = partials(stream, norm_blocks_ * 2 * dx.columns);
    launch_layer_norm_backward(norm, dy, dx, accumulate, gradients, sums, norm_blocks_,
                               native(stream));
  }

  void random_elements(Stream& stream, const Span& state, std::uint64_t column,
                       const Tensor& tensor) override {
    launch_random_elements(state, column, tensor, native(stream));
  }

  void relu(Stream& stream, const Tensor& x, const Tensor& y) override {
    require_columns(x);
    require(x.count() == y.count(), "relu");
    launch_relu(x, y, native(stream));
  }

  void relu_backward(Stream& stream, const Tensor& y, const Tensor& dy, const Tensor& dx) override {
    require_columns(y);
    require(y.count() == dy.count() && y.count() == dx.count(), "relu backward");
    launch_relu_backward(y, dy, dx, native(stream));
  }

  void gelu(Stream& stream, const Tensor& x, const Tensor& y) override {
    require_columns(x);
    require(x.count() == y.count(), "gelu");
    launch_gelu(x, y, native(stream));
  }

  void gelu_backward(Stream& stream, const Tensor& x, const Tensor& dy, const Tensor& dx) override {
    require_columns(x);
    require(x.count() == dy.count() && x.count() == dx.count(), "gelu backward");
    launch_gelu_backward(x, dy, dx, native(stream));
  }

  void attention(Stream& stream, const AttentionTensors& tensors) override {
    plan_of(stream, tensors).forward(stream, tensors);
  }

  void attention_backward(Stream& stream, const AttentionTensors& tensors, const Tensor& dout,
                          const Tensor& dqkv) override {
    plan_of(stream, tensors).backward(stream, tensors, dout, dqkv);
  }

  void cross_entropy(Stream& stream, const Tensor& logits, std::int64_t vocabulary,
                     const Tensor& targets, const Tensor& row_losses, const Tensor& loss) override {
    require_columns(logits);
    require(targets.count() == logits.rows && row_losses.count() == logits.rows &&
                vocabulary <= logits.columns,
            "cross entropy");
    launch_cross_entropy(logits, vocabulary, targets, row_losses, loss, most_shared_,
                         native(stream));
  }

  void mean_squared_error(Stream& stream, const Tensor& prediction, const Tensor& target,
                          const Tensor& row_losses, const Tensor& loss) override {
    require_columns(prediction);
    require(prediction.count() == target.count() && row_losses.count() == prediction.rows,
            "mean squared error");
    launch_mean_squared_error(prediction, target, row_losses, loss, native(stream));
  }

  void sgd(Stream& stream, const Span& state, const OptimizerTensors& tensors) override {
    require_columns(tensors.parameters);
    launch_sgd(state, tensors, native(stream));
  }

  void clip(Stream& stream, const Span& state, const std::vector<Tensor>& gradients, double scale,
            double limit, const Tensor& norm) override {
    for (const Tensor& each : gradients) require_columns(each);
    const int blocks = kClipBlocksPerUnit * device_.info().compute_units;
    float* const sums = partials(stream, blocks * static_cast<std::int64_t>(gradients.size()));
    launch_clip(state, gradients, scale, limit, norm, sums, blocks, native(stream));
  }

  void adamw(Stream& stream, const AdamWOptions& options, const Span& state,
             const OptimizerTensors& tensors) override {
    require_columns(tensors.parameters);
    launch_adamw(options, state, tensors, native(stream));
  }

 private:
  gpuStream_t native(Stream& stream) const {
    device_.use();
    return static_cast<gpuStream_t>(stream.native());
  }

  // Memory for the sums of blocks, which each call overwrites.
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

  static void require_norm(const NormTensors& norm, const Tensor& y) {
    require_columns(y);
    require(norm.x.rows == y.rows && norm.x.columns == y.columns, "layer norm");
    if (y.columns <= kWidestNorm) return;
    throw Unavailable(
        fmt::format("rows of {} elements: norms on GPUs take {} at most", y.columns, kWidestNorm));
  }

  AttentionPlan& plan_of(Stream& stream, const AttentionTensors& tensors) {
    const AttentionShape& s = tensors.shape;
    require(s.elements() == tensors.out.count() && 3 * s.elements() == tensors.qkv.count() &&
                s.rows() == tensors.log_sum_exp.count(),
            "attention");
    std::unique_ptr<AttentionPlan>& plan = attention_[fmt::format(
        "{}x{}x{}x{} {}", s.batch, s.tokens, s.heads, s.head_dim, name(tensors.out.dtype))];
    if (plan == nullptr) {
      stream.synchronize(kPlanningSeconds);
      plan = make_plan(s, tensors.out.dtype);
    }
    return *plan;
  }

  std::unique_ptr<AttentionPlan> make_plan(const AttentionShape& shape, DType dtype) {
    for (AttentionEngine* engine : attention_engines(device_.info().kind).engines) {
      if (engine->unsupported(device_, shape, dtype)) continue;
      return engine->plan(device_, shape, dtype, true);
    }
    if (shape.head_dim <= kWidestHead) return std::make_unique<PlainAttention>(device_);
    throw Unavailable(
        fmt::format("attention: heads of {} elements: {} at most", shape.head_dim, kWidestHead));
  }

  GpuDevice& device_;
  int norm_blocks_;
  std::uint64_t most_shared_ = 0;
  Buffer partials_;
  std::map<std::string, std::unique_ptr<AttentionPlan>> attention_;
};

}  // namespace

void register_gpu_training() {
  register_operations(DUET_GPU_NAME, [](Device& device) -> std::unique_ptr<Operations> {
    return std::make_unique<GpuOperations>(dynamic_cast<GpuDevice&>(device));
  });
}

}  // namespace duet::DUET_GPU
