// cuDNN as an engine of attention on NVIDIA GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "training/cudnn/attention_graph.h"
#include "training/cudnn/plan.h"
#include "training/operations/attention.h"

namespace duet::cudnn {
namespace {

constexpr std::size_t kOldest = 90500;
constexpr std::size_t kAnyTokens = 91600;  // before, backward takes multiples of 128 only
constexpr std::size_t kClearsDqSum = 90600;

std::optional<cudnnDataType_t> data_type(DType dtype) {
  if (dtype == DType::bf16) return CUDNN_DATA_BFLOAT16;
  if (dtype == DType::fp16) return CUDNN_DATA_HALF;
  return std::nullopt;
}

std::string name(const AttentionShape& s) {
  const std::string keys = s.group() == 1 ? "" : fmt::format(" to {} of k and v", s.key_heads());
  return fmt::format("{} sequences of {} tokens, {} heads of {}{}", s.batch, s.tokens, s.heads,
                     s.head_dim, keys);
}

struct DestroyHandle {
  void operator()(cudnnHandle_t handle) const noexcept { static_cast<void>(cudnnDestroy(handle)); }
};
using Handle = std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, DestroyHandle>;

Handle make_handle(Device& device) {
  device.make_current();
  cudnnHandle_t handle = nullptr;
  check(cudnnCreate(&handle), "opening the library on a device");
  return Handle(handle);
}

// Each plan has a handle of its own: a handle holds a stream and must not be used by two threads at
// once, and ranks are threads.
class CudnnAttentionPlan : public AttentionPlan {
 public:
  CudnnAttentionPlan(Device& device, const AttentionShape& shape, DType dtype, bool deterministic)
      : device_(device),
        scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)))),
        handle_(make_handle(device)),
        forward_(handle_.get(), forward_graph(shape, *data_type(dtype)),
                 "attention of " + name(shape)),
        backward_(handle_.get(), backward_graph(shape, *data_type(dtype), deterministic),
                  "the gradients of attention of " + name(shape)),
        workspace_(
            device.allocate(std::max(forward_.workspace_bytes(), backward_.workspace_bytes()))),
        softmax_sum_(device.allocate(fp32_bytes(shape.rows()))),
        dq_sum_(device.allocate(deterministic ? 0 : fp32_bytes(shape.elements()))) {}

  void forward(Stream& stream, const AttentionTensors& tensors) override {
    use(stream);
    forward_.execute(handle_.get(), bindings(tensors), workspace_.span());
  }

  void backward(Stream& stream, const AttentionTensors& tensors, const Tensor& dout,
                const Tensor& dqkv) override {
    use(stream);
    std::vector<Binding> all = bindings(tensors);
    const Parts d = parts(tensors.shape, dqkv);
    const Binding gradients[] = {{kDout, dout.span.data},
                                 {kDq, d.q},
                                 {kDk, d.k},
                                 {kDv, d.v},
                                 {kSoftmaxSum, softmax_sum_.span().data},
                                 {kOne, &one_}};
    all.insert(all.end(), std::begin(gradients), std::end(gradients));
    if (dq_sum_.bytes() != 0) {
      if (cudnnGetVersion() < kClearsDqSum) stream.fill(dq_sum_.span(), {FillKind::constant});
      all.push_back({kDqSum, dq_sum_.span().data});
    }
    backward_.execute(handle_.get(), all, workspace_.span());
  }

  std::uint64_t workspace_bytes() const override {
    return workspace_.bytes() + softmax_sum_.bytes() + dq_sum_.bytes();
  }

 private:
  static std::uint64_t fp32_bytes(std::int64_t count) {
    return static_cast<std::uint64_t>(count) * sizeof(float);
  }

  // Where q, k and v begin in a packed tensor.
  struct Parts {
    std::byte *q, *k, *v;
  };
  static Parts parts(const AttentionShape& shape, const Tensor& qkv) {
    const std::size_t size = size_of(qkv.dtype);
    std::byte* const q = qkv.span.data;
    std::byte* const k = q + static_cast<std::size_t>(shape.width()) * size;
    return {q, k, k + static_cast<std::size_t>(shape.key_width()) * size};
  }

  // What both directions use.
  std::vector<Binding> bindings(const AttentionTensors& tensors) {
    const Parts of = parts(tensors.shape, tensors.qkv);
    return {{kQ, of.q},
            {kK, of.k},
            {kV, of.v},
            {kOut, tensors.out.span.data},
            {kStats, tensors.log_sum_exp.span.data},
            {kScale, &scale_},
            {kMinusInfinity, &minus_infinity_}};
  }

  void use(Stream& stream) {
    device_.make_current();
    check(cudnnSetStream(handle_.get(), static_cast<cudaStream_t>(stream.native())),
          "setting the stream");
  }

  Device& device_;
  float scale_, one_ = 1, minus_infinity_ = -std::numeric_limits<float>::infinity();
  Handle handle_;
  Plan forward_, backward_;
  Buffer workspace_, softmax_sum_, dq_sum_;
};

// Why this library cannot run the shape on such a device, or "".
std::string refusal(const DeviceInfo& info, const AttentionShape& shape, DType dtype) {
  if (!data_type(dtype)) {
    return fmt::format("cuDNN's attention takes bf16 and fp16, not {}", duet::name(dtype));
  }
  const std::size_t version = cudnnGetVersion();
  if (version < kOldest || version == 91000 || version == 91001) {
    return fmt::format("cuDNN's attention needs 9.5 or newer, but not 9.10.0 or 9.10.1; this is {}",
                       version_text());
  }
  const auto capability = info.details.find("compute capability");
  if (capability != info.details.end() && std::stoi(capability->second) < 8) {
    return fmt::format("cuDNN's attention needs compute capability 8.0, and {} has {}", info.model,
                       capability->second);
  }
  if (shape.head_dim % 8 != 0 || shape.head_dim > 128) {
    return fmt::format("cuDNN's attention takes heads of 8, 16 ... 128 elements, not of {}",
                       shape.head_dim);
  }
  if (version < kAnyTokens && shape.tokens % 128 != 0) {
    return fmt::format("cuDNN {} takes multiples of 128 tokens, not {}; 9.16 takes any number",
                       version_text(), shape.tokens);
  }
  return "";
}

class CudnnAttention : public AttentionEngine {
 public:
  std::string name() const override { return "cudnn"; }
  std::string device_kind() const override { return "cuda"; }

  std::optional<Skipped> unsupported(Device& device, const AttentionShape& shape,
                                     DType dtype) const override {
    const std::string reason = refusal(device.info(), shape, dtype);
    return reason.empty() ? std::nullopt : std::make_optional(Skipped{reason});
  }

  std::unique_ptr<AttentionPlan> plan(Device& device, const AttentionShape& shape, DType dtype,
                                      bool deterministic) override {
    const std::string reason = refusal(device.info(), shape, dtype);
    if (!reason.empty()) throw Unavailable(reason);
    return std::make_unique<CudnnAttentionPlan>(device, shape, dtype, deterministic);
  }
};

}  // namespace
}  // namespace duet::cudnn

extern "C" void duet_register();

void duet_register() {
  duet::register_attention_engine(std::make_unique<duet::cudnn::CudnnAttention>());
}
