#include "training/gpu/operations.h"

#include <fmt/format.h>

#include <map>
#include <variant>

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

 private:
  using LinearOperations::enqueue;

  // Kernels are launched on the current device.
  void dispatch(Stream& stream, const AnyOperation& operation) override {
    device_.make_current();
    std::visit([&](const auto& each) { enqueue(stream, each); }, operation);
  }

  // Operations without memory beside their tensors.
  template <typename Operation>
  void enqueue(Stream& stream, const Operation& o) {
    require(o);
    launch(o, stream);
  }

  void enqueue(Stream& stream, const EmbeddingBackward& o) {
    require_columns(o.dx);
    launch(o, partials(stream, kOccurrenceWords * o.dtoken_table.rows), stream);
  }

  void enqueue(Stream& stream, const NormBackward& o) {
    require_norm(o.dx);
    const int count = blocks(kNormBlocksPerUnit);
    launch(o, partials(stream, count * (o.norm.centred() ? 2 : 1) * o.dx.columns), count, stream);
  }

  void enqueue(Stream& stream, const Magnitude& o) {
    require_columns(o.x);
    launch(o, blocks(kMagnitudeBlocksPerUnit), stream);
  }

  void enqueue(Stream& stream, const Quantise& o) {
    if (o.x.rows % kFp8Multiple != 0 || o.x.columns % kFp8Multiple != 0) {
      throw Unavailable(fmt::format("a tensor of {} x {}: GPUs multiply fp8 of multiples of {}",
                                    o.x.rows, o.x.columns, kFp8Multiple));
    }
    launch(o, stream);
  }

  void enqueue(Stream& stream, const RotateBackward& o) {
    require_heads(o.tensors.shape.head_dim);
    const int count = blocks(kRotaryBlocksPerUnit);
    launch(o, partials(stream, count * 2 * o.tensors.shape.head_dim), count, stream);
  }

  void enqueue(Stream& stream, const Attention& o) { attention_.forward(stream, o.tensors); }

  void enqueue(Stream& stream, const AttentionBackward& o) {
    attention_.backward(stream, o.tensors, o.dout, o.dqkv);
  }

  void enqueue(Stream& stream, const CrossEntropy& o) {
    enqueue(stream, o.piece());
    enqueue(stream, o.mean());
  }

  void enqueue(Stream& stream, const CrossEntropyPiece& o) {
    require_columns(o.logits);
    launch(o, most_shared_, stream);
  }

  void enqueue(Stream& stream, const SumOfSquares& o) {
    for (const Tensor& each : o.gradients) require_columns(each);
    const int count = blocks(kClipBlocksPerUnit);
    const auto sums = count * static_cast<std::int64_t>(o.gradients.size());
    launch(o, partials(stream, sums), count, stream);
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

  // Throws Unavailable where GPUs demand more of tensors than others do.
  template <typename Operation>
  static void require(const Operation&) {}
  static void require(const GroupedLinear& o) { require_both(o.x, o.y); }
  static void require(const GroupedLinearBackwardInput& o) { require_both(o.dy, o.dx); }
  static void require(const GroupedLinearBackwardWeight& o) { require_both(o.dy, o.x); }
  static void require(const Add& o) { require_columns(o.sum); }
  static void require(const Embedding& o) { require_columns(o.x); }
  static void require(const GatherRows& o) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(o.y.columns) * size_of(o.y.dtype);
    if (bytes % 4 == 0) return;
    throw Unavailable(fmt::format("rows of {} bytes: GPUs gather multiples of 4", bytes));
  }
  static void require(const CombineRows& o) { require_columns(o.y); }
  static void require(const CombineRowsBackward& o) { require_columns(o.dy); }
  static void require(const Norm& o) { require_norm(o.y); }
  static void require(const Relu& o) { require_columns(o.x); }
  static void require(const ReluBackward& o) { require_columns(o.y); }
  static void require(const Gelu& o) { require_columns(o.x); }
  static void require(const GeluBackward& o) { require_columns(o.x); }
  static void require(const Rotate& o) { require_heads(o.tensors.shape.head_dim); }
  static void require(const SwiGlu& o) { require_columns(o.y); }
  static void require(const SwiGluBackward& o) { require_columns(o.dy); }
  static void require(const CrossEntropySums& o) { require_columns(o.logits); }
  static void require(const CrossEntropyOfPart& o) { require_columns(o.own.logits); }
  static void require(const MeanSquaredError& o) { require_columns(o.prediction); }
  static void require(const AdamW& o) { require_columns(o.tensors.parameters); }
  static void require(const Sgd& o) { require_columns(o.tensors.parameters); }

  static void require_both(const Tensor& a, const Tensor& b) {
    require_columns(a);
    require_columns(b);
  }

  static void require_columns(const Tensor& tensor) {
    if (tensor.columns % 8 == 0) return;
    throw Unavailable(
        fmt::format("rows of {} elements: GPUs train with multiples of 8", tensor.columns));
  }

  static void require_heads(std::int64_t head_dim) {
    if (head_dim % 16 == 0 && head_dim <= kWidestHead) return;
    throw Unavailable(
        fmt::format("heads of {} elements: GPUs rotate heads of multiples of 16 up to {}", head_dim,
                    kWidestHead));
  }

  static void require_norm(const Tensor& y) {
    require_columns(y);
    if (y.columns <= kWidestNorm) return;
    throw Unavailable(
        fmt::format("rows of {} elements: norms on GPUs take {} at most", y.columns, kWidestNorm));
  }

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
