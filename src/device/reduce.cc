#include "device/reduce.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/sum.h"

namespace duet {
namespace {

// Elements at a time: what they are reduced to stays in the first-level cache, and the loops over
// them are made of vector instructions. Below 2 KiB so is memcpy(); above, it copies by `rep
// movsb`, which begins slowly.
constexpr std::size_t kBlock = 256;

// Reduces elements as they lie in memory into the results.
template <typename Element, typename Value>
void combine(Reduction op, const std::byte* elements, Value* results, std::size_t count) {
  const auto each = [&](auto with) {
    for (std::size_t i = 0; i < count; ++i) {
      Element element;
      std::memcpy(&element, elements + i * sizeof element, sizeof element);
      results[i] = with(results[i], static_cast<Value>(element));
    }
  };
  if (op == Reduction::max) {
    each([](Value a, Value b) { return std::max(a, b); });
  } else if (op == Reduction::min) {
    each([](Value a, Value b) { return std::min(a, b); });
  } else {
    each([](Value a, Value b) { return sum_of(a, b); });
  }
}

// All inputs of a block are read before it is written, since the output may be one of them.
// load(input, results, count) and store(results, output, count) convert elements, add(input,
// results, count) reduces them into the results.
template <typename Value, typename Load, typename Add, typename Store>
void reduce_blocks(Reduction op, const std::vector<const std::byte*>& inputs, std::byte* output,
                   std::size_t bytes, std::size_t element_bytes, Value divisor, Load load, Add add,
                   Store store) {
  Value results[kBlock];
  for (std::size_t at = 0; at < bytes; at += kBlock * element_bytes) {
    const std::size_t count = std::min(kBlock, (bytes - at) / element_bytes);
    load(inputs.front() + at, results, count);
    for (std::size_t k = 1; k < inputs.size(); ++k) add(inputs[k] + at, results, count);
    for (std::size_t i = 0; op == Reduction::avg && i < count; ++i) results[i] /= divisor;
    store(results, output + at, count);
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
  const std::size_t size = size_of(dtype), bytes = elements * size;
  if (dtype == DType::int32) {
    const auto copy = [](const void* from, void* to, std::size_t count) {
      std::memcpy(to, from, count * sizeof(std::int32_t));
    };
    const auto add = [op](const std::byte* input, std::int32_t* results, std::size_t count) {
      combine<std::int32_t>(op, input, results, count);
    };
    return reduce_blocks(op, inputs, output, bytes, size, static_cast<std::int32_t>(divisor), copy,
                         add, copy);
  }
  const auto load = [dtype](const std::byte* input, float* values, std::size_t count) {
    convert(dtype, input, DType::fp32, values, count);
  };
  const auto add = [dtype, op, load](const std::byte* input, float* results, std::size_t count) {
    if (dtype == DType::fp32) return combine<float>(op, input, results, count);
    float values[kBlock];
    load(input, values, count);
    combine<float>(op, reinterpret_cast<const std::byte*>(values), results, count);
  };
  const auto store = [dtype](const float* results, std::byte* to, std::size_t count) {
    convert(DType::fp32, results, dtype, to, count);
  };
  reduce_blocks<float>(op, inputs, output, bytes, size, static_cast<float>(divisor), load, add,
                       store);
}

}  // namespace duet
