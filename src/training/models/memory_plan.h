// All memory of a training step, laid out before the first step: a step allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "device/device.h"
#include "training/operations/tensor.h"

namespace duet {

enum class MemoryUse {
  parameters,
  gradients,
  optimizer_states,
  gathered,     // parameters of all ranks and their gradients, while they are used
  activations,  // kept from the forward to the backward pass
  workspace,    // gradients of activations, which each block uses in turn
  input,        // tokens, targets, losses, the state of the step
};
inline constexpr std::size_t kMemoryUses = 7;
const char* name(MemoryUse use);

// The same calls are made twice: before allocate() they are counted, and after it they return the
// memory.
//
//   lay_out(plan); plan.allocate(device); lay_out(plan);
class MemoryPlan {
 public:
  // A matrix, aligned to 256 bytes; without memory before allocate(). Throws BadArgument if the
  // calls after allocate() need more than those before, and OutOfMemory if all of one use need more
  // than 1 EiB.
  Tensor add(MemoryUse use, const std::string& name, std::int64_t rows, std::int64_t columns,
             DType dtype = DType::fp32);

  // Bytes of one use, with the gaps that alignment leaves.
  std::uint64_t bytes(MemoryUse use) const { return sizes_[static_cast<std::size_t>(use)]; }
  std::uint64_t total_bytes() const;

  // Allocates all memory in one buffer. Throws OutOfMemory.
  void allocate(Device& device);
  // All memory of one use; after allocate().
  Span span(MemoryUse use) const;

 private:
  std::uint64_t begin_of(MemoryUse use) const;

  std::array<std::uint64_t, kMemoryUses> sizes_{};  // planned
  std::array<std::uint64_t, kMemoryUses> used_{};   // by the calls of this layout
  bool allocated_ = false;
  Buffer buffer_;
};

}  // namespace duet
