#include "training/models/memory_plan.h"

#include <fmt/format.h>

#include <numeric>

#include "core/error.h"
#include "core/names.h"

namespace duet {
namespace {

constexpr std::uint64_t kAlignment = 256;  // tuned GEMM algorithms hold for it

constexpr NamedValue<MemoryUse> kUses[] = {{MemoryUse::parameters, "parameters"},
                                           {MemoryUse::gradients, "gradients"},
                                           {MemoryUse::optimizer_states, "optimizer states"},
                                           {MemoryUse::gathered, "gathered"},
                                           {MemoryUse::activations, "activations"},
                                           {MemoryUse::workspace, "workspace"},
                                           {MemoryUse::input, "input"}};

constexpr std::uint64_t kMostBytes = std::uint64_t{1}
                                     << 60;  // of a use; all of them fit in 64 bits

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// True if `used` bytes and those of the tensor are more than kMostBytes, as large as it may be.
bool is_too_large(std::uint64_t used, const Tensor& tensor) {
  const auto rows = static_cast<std::uint64_t>(tensor.rows);
  const auto columns = static_cast<std::uint64_t>(tensor.columns);
  std::uint64_t bytes = 0;
  return __builtin_mul_overflow(rows, columns, &bytes) ||
         __builtin_mul_overflow(bytes, size_of(tensor.dtype), &bytes) || bytes > kMostBytes - used;
}

}  // namespace

const char* name(MemoryUse use) { return name_of(kUses, use); }

Tensor MemoryPlan::add(MemoryUse use, const std::string& name, std::int64_t rows,
                       std::int64_t columns, DType dtype) {
  Tensor tensor{{}, rows, columns, dtype};
  const auto index = static_cast<std::size_t>(use);
  const std::uint64_t offset = used_[index];
  if (is_too_large(offset, tensor)) {
    throw OutOfMemory(fmt::format("{} with {} of {} x {}: more than 1 EiB of memory",
                                  duet::name(use), name, rows, columns));
  }
  used_[index] += aligned(tensor.bytes());
  if (!allocated_) {
    sizes_[index] = used_[index];
    return tensor;
  }
  if (used_[index] > sizes_[index]) {
    throw BadArgument(fmt::format("{}: {} bytes of {} were planned, and {} are needed", name,
                                  sizes_[index], duet::name(use), used_[index]));
  }
  tensor.span = buffer_.slice(begin_of(use) + offset, tensor.bytes());
  return tensor;
}

std::uint64_t MemoryPlan::total_bytes() const {
  return std::accumulate(sizes_.begin(), sizes_.end(), std::uint64_t{0});
}

void MemoryPlan::allocate(Device& device) {
  buffer_ = device.allocate(total_bytes());
  allocated_ = true;
  used_ = {};
}

Span MemoryPlan::span(MemoryUse use) const { return buffer_.slice(begin_of(use), bytes(use)); }

std::uint64_t MemoryPlan::begin_of(MemoryUse use) const {
  return std::accumulate(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(use),
                         std::uint64_t{0});
}

}  // namespace duet
