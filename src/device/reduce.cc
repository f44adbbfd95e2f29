#include "device/reduce.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace duet {
namespace {

template <typename Value>
Value combined(Reduction op, Value a, Value b) {
  if (op == Reduction::max) return std::max(a, b);
  if (op == Reduction::min) return std::min(a, b);
  return a + b;
}

void reduce_whole(Reduction op, const std::vector<const std::byte*>& inputs, std::byte* output,
                  std::size_t elements, std::uint32_t divisor) {
  const auto load_at = [](const std::byte* input, std::size_t i) {
    std::int32_t value;
    std::memcpy(&value, input + i * sizeof value, sizeof value);
    return static_cast<std::int64_t>(value);
  };
  for (std::size_t i = 0; i < elements; ++i) {
    std::int64_t value = load_at(inputs.front(), i);
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      value = combined(op, value, load_at(inputs[k], i));
    }
    if (op == Reduction::avg) value /= static_cast<std::int64_t>(divisor);
    const auto result = static_cast<std::int32_t>(value);
    std::memcpy(output + i * sizeof result, &result, sizeof result);
  }
}

}  // namespace

bool is_reducible(DType dtype) {
  return dtype == DType::fp32 || dtype == DType::fp16 || dtype == DType::bf16 ||
         dtype == DType::int32;
}

void reduce(DType dtype, Reduction op, const std::vector<const std::byte*>& inputs,
            std::byte* output, std::size_t elements, std::uint32_t divisor) {
  if (divisor == 0) divisor = static_cast<std::uint32_t>(inputs.size());
  if (dtype == DType::int32) return reduce_whole(op, inputs, output, elements, divisor);
  const std::size_t size = size_of(dtype);
  for (std::size_t i = 0; i < elements; ++i) {
    float value = load(dtype, inputs.front() + i * size);
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      value = combined(op, value, load(dtype, inputs[k] + i * size));
    }
    if (op == Reduction::avg) value /= static_cast<float>(divisor);
    store(dtype, output + i * size, value);
  }
}

}  // namespace duet
