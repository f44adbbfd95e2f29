#include "device/reduce.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace duet {
namespace {

// Elements at a time: what they are reduced to stays in the first-level cache, and the loops over
// them are made of vector instructions.
constexpr std::size_t kBlock = 1024;

template <typename Value>
void combine(Reduction op, Value* results, const Value* values, std::size_t count) {
  if (op == Reduction::max) {
    for (std::size_t i = 0; i < count; ++i) results[i] = std::max(results[i], values[i]);
  } else if (op == Reduction::min) {
    for (std::size_t i = 0; i < count; ++i) results[i] = std::min(results[i], values[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i) results[i] += values[i];
  }
}

// All inputs of a block are read before it is written, since the output may be one of them.
// load(input, values, count) and store(values, output, count) convert elements.
template <typename Value, typename Load, typename Store>
void reduce_blocks(Reduction op, const std::vector<const std::byte*>& inputs, std::byte* output,
                   std::size_t bytes, std::size_t element_bytes, Value divisor, Load load,
                   Store store) {
  Value results[kBlock], values[kBlock];
  for (std::size_t at = 0; at < bytes; at += kBlock * element_bytes) {
    const std::size_t count = std::min(kBlock, (bytes - at) / element_bytes);
    load(inputs.front() + at, results, count);
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      load(inputs[k] + at, values, count);
      combine(op, results, values, count);
    }
    for (std::size_t i = 0; op == Reduction::avg && i < count; ++i) results[i] /= divisor;
    store(results, output + at, count);
  }
}

void load_whole(const std::byte* input, std::int64_t* values, std::size_t count) {
  std::int32_t elements[kBlock];
  std::memcpy(elements, input, count * sizeof *elements);
  std::copy(elements, elements + count, values);
}

void store_whole(const std::int64_t* values, std::byte* output, std::size_t count) {
  std::int32_t elements[kBlock];
  for (std::size_t i = 0; i < count; ++i) elements[i] = static_cast<std::int32_t>(values[i]);
  std::memcpy(output, elements, count * sizeof *elements);
}

}  // namespace

bool is_reducible(DType dtype) {
  return dtype == DType::fp32 || dtype == DType::fp16 || dtype == DType::bf16 ||
         dtype == DType::int32;
}

void reduce(DType dtype, Reduction op, const std::vector<const std::byte*>& inputs,
            std::byte* output, std::size_t elements, std::uint32_t divisor) {
  if (divisor == 0) divisor = static_cast<std::uint32_t>(inputs.size());
  const std::size_t size = size_of(dtype), bytes = elements * size;
  if (dtype == DType::int32) {
    return reduce_blocks<std::int64_t>(op, inputs, output, bytes, size, divisor, load_whole,
                                       store_whole);
  }
  reduce_blocks<float>(
      op, inputs, output, bytes, size, static_cast<float>(divisor),
      [dtype](const std::byte* input, float* values, std::size_t count) {
        convert(dtype, input, DType::fp32, values, count);
      },
      [dtype](const float* values, std::byte* to, std::size_t count) {
        convert(DType::fp32, values, dtype, to, count);
      });
}

}  // namespace duet
