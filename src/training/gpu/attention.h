#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "device/gpu/vendor.h"
#include "training/operations/attention.h"

namespace duet::DUET_GPU {

// Attention of a device: by the first engine that can, otherwise by plain kernels, which are slow.
// When a shape comes first, its plan is made, which synchronises the stream.
class GpuAttention {
 public:
  // Not `deterministic`: of an engine's two backward passes each shape takes the faster one. Both
  // are timed at the first call, which must not be captured.
  GpuAttention(Device& device, bool deterministic)
      : device_(device), deterministic_(deterministic) {}

  // As AttentionPlan's. Throw Unavailable for heads that no plan takes.
  void forward(Stream& stream, const AttentionTensors& tensors);
  void backward(Stream& stream, const AttentionTensors& tensors, const Tensor& dout,
                const Tensor& dqkv);

  std::uint64_t workspace_bytes() const;
  // What computes the last new shape, and why no engine does; empty before the first call.
  const std::string& note() const { return note_; }

 private:
  struct Choice {
    std::unique_ptr<AttentionPlan> plan;
    std::unique_ptr<AttentionPlan> deterministic;  // until the faster one of both is known
  };

  Choice& choice_of(Stream& stream, const AttentionTensors& tensors);
  Choice choose(const AttentionShape& shape, DType dtype);
  // Throws Unavailable if the engine cannot.
  Choice by_engine(AttentionEngine& engine, const AttentionShape& shape, DType dtype);

  Device& device_;
  bool deterministic_;
  std::map<std::string, Choice> choices_;
  std::string note_;
};

}  // namespace duet::DUET_GPU
