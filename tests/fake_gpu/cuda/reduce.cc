#include "fake_gpu/cuda/reduce.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/sum.h"
#include "device/gpu/element.h"

namespace duet::nccl_shim::host {
namespace {

// How an element is read, in what it is accumulated, and how that is stored.
struct Fp32 {
  using Element = float;
  using Value = float;
  static Value load(Element element) { return element; }
  static Element store(Value value) { return value; }
};
struct Fp16 {
  using Element = std::uint16_t;
  using Value = float;
  static Value load(Element element) { return gpu::from_fp16(element); }
  static Element store(Value value) { return gpu::to_fp16(value); }
};
struct Bf16 {
  using Element = std::uint16_t;
  using Value = float;
  static Value load(Element element) { return gpu::from_bf16(element); }
  static Element store(Value value) { return gpu::to_bf16(value); }
};
struct Int32 {
  using Element = std::int32_t;
  using Value = std::int32_t;
  static Value load(Element element) { return element; }
  static Element store(Value value) { return value; }
};

template <typename Value>
Value combined(Reduction reduction, Value a, Value b) {
  if (reduction == Reduction::max) return std::max(a, b);
  return reduction == Reduction::min ? std::min(a, b) : sum_of(a, b);
}

template <typename Type>
void reduce_as(const PartsToReduce& reduced) {
  using Element = typename Type::Element;
  using Value = typename Type::Value;
  const auto value = [&](std::size_t part, std::size_t at) {
    Element element;
    std::memcpy(&element, static_cast<const char*>(reduced.parts[part]) + at, sizeof element);
    return Type::load(element);
  };
  for (std::size_t at = 0; at < reduced.bytes; at += sizeof(Element)) {
    Value result = value(0, at);
    for (std::size_t part = 1; part < reduced.parts.size(); ++part) {
      result = combined(reduced.reduction, result, value(part, at));
    }
    if (reduced.reduction == Reduction::avg) result /= static_cast<Value>(reduced.parts.size());
    const Element element = Type::store(result);
    std::memcpy(static_cast<char*>(reduced.to) + at, &element, sizeof element);
  }
}

}  // namespace

void reduce_parts(const PartsToReduce& reduced) {
  if (reduced.type == DType::fp32) return reduce_as<Fp32>(reduced);
  if (reduced.type == DType::fp16) return reduce_as<Fp16>(reduced);
  if (reduced.type == DType::bf16) return reduce_as<Bf16>(reduced);
  if (reduced.type == DType::int32) return reduce_as<Int32>(reduced);
  throw BadArgument("expected fp32, fp16, bf16 or int32");
}

}  // namespace duet::nccl_shim::host
