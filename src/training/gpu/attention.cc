#include "training/gpu/attention.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "training/gpu/kernels.h"
#include "training/operations/is_faster.h"

namespace duet::DUET_GPU {
namespace {

constexpr double kAttentionPlanSeconds = 120;

// By attention_kernels.cu.
class PlainAttention : public AttentionPlan {
 public:
  void forward(Stream& stream, const AttentionTensors& tensors) override {
    launch_attention(tensors, stream);
  }
  void backward(Stream& stream, const AttentionTensors& tensors, const Tensor& dout,
                const Tensor& dqkv) override {
    launch_attention_backward(tensors, dout, dqkv, stream);
  }
  std::uint64_t workspace_bytes() const override { return 0; }
};

}  // namespace

void GpuAttention::forward(Stream& stream, const AttentionTensors& tensors) {
  choice_of(stream, tensors).plan->forward(stream, tensors);
}

void GpuAttention::backward(Stream& stream, const AttentionTensors& tensors, const Tensor& dout,
                            const Tensor& dqkv) {
  Choice& choice = choice_of(stream, tensors);
  if (choice.deterministic != nullptr) {
    const auto by = [&](AttentionPlan& plan) {
      return [&] { plan.backward(stream, tensors, dout, dqkv); };
    };
    if (is_faster(device_, stream, by(*choice.plan), by(*choice.deterministic))) {
      note_ += ", its backward pass by sums in an order that changes";
    } else {
      choice.plan = std::move(choice.deterministic);
    }
    choice.deterministic = nullptr;
  }
  choice.plan->backward(stream, tensors, dout, dqkv);
}

std::uint64_t GpuAttention::workspace_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [shape, choice] : choices_) bytes += choice.plan->workspace_bytes();
  return bytes;
}

GpuAttention::Choice& GpuAttention::choice_of(Stream& stream, const AttentionTensors& tensors) {
  const AttentionShape& s = tensors.shape;
  Choice& choice = choices_[fmt::format("{}x{}x{}/{}x{} {}", s.batch, s.tokens, s.heads,
                                        s.key_heads(), s.head_dim, name(tensors.out.dtype))];
  if (choice.plan == nullptr) {
    stream.synchronize(kAttentionPlanSeconds);
    choice = choose(s, tensors.out.dtype);
  }
  return choice;
}

GpuAttention::Choice GpuAttention::choose(const AttentionShape& shape, DType dtype) {
  const AttentionEngines found = attention_engines(device_.info().kind);
  std::string why_none;
  for (const auto& [module, reason] : found.unavailable) {
    why_none += fmt::format("{}: {}; ", module, reason);
  }
  for (AttentionEngine* engine : found.engines) {
    try {
      Choice choice = by_engine(*engine, shape, dtype);
      note_ = engine->name();
      return choice;
    } catch (const Unavailable& error) {
      why_none += fmt::format("{}: {}; ", engine->name(), error.what());
    }
  }
  note_ = fmt::format("{}plain kernels", why_none);
  if (shape.head_dim <= kWidestHead) return {std::make_unique<PlainAttention>(), nullptr};
  throw Unavailable(
      fmt::format("attention: {}, which take heads of {} elements at most", note_, kWidestHead));
}

GpuAttention::Choice GpuAttention::by_engine(AttentionEngine& engine, const AttentionShape& shape,
                                             DType dtype) {
  if (const auto skipped = engine.unsupported(device_, shape, dtype)) {
    throw Unavailable(skipped->reason);
  }
  if (deterministic_) return {engine.plan(device_, shape, dtype, true), nullptr};
  Choice choice{engine.plan(device_, shape, dtype, false), nullptr};
  try {
    choice.deterministic = engine.plan(device_, shape, dtype, true);
  } catch (const Error&) {
    // Its workspace, which grows by the square of the tokens, may have no room.
  }
  return choice;
}

}  // namespace duet::DUET_GPU
