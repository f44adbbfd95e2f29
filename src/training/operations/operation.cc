#include "training/operations/operation.h"

#include <algorithm>

#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<StepPart> kParts[] = {
    {StepPart::gemm, "gemm"}, {StepPart::attention, "attention"},
    {StepPart::norm, "norm"}, {StepPart::elementwise, "elementwise"},
    {StepPart::loss, "loss"}, {StepPart::optimizer, "optimizer"}};

}  // namespace

const char* name(StepPart part) { return name_of(kParts, part); }

StepPart parse_step_part(std::string_view text) {
  return parse_name(kParts, "unknown part of a step", text);
}

bool RotaryTensors::fit(const Tensor& result) const {
  const std::int64_t rows = shape.batch * shape.tokens, heads = shape.key_heads();
  if (heads <= 0 || shape.heads % heads != 0 || shape.head_dim % 2 != 0 || theta <= 0) return false;
  if (qkv.rows != rows || qkv.columns != shape.qkv_width()) return false;
  if (!same_shape(result, qkv)) return false;
  if (q_weight.count() != k_weight.count()) return false;
  return !normalises() || (q_weight.count() == shape.head_dim &&
                           inverse_rms.count() == rows * (shape.heads + heads));
}

bool Quantised::fits(const Tensor& x, const Tensor& magnitude) const {
  const auto is = [this](const Tensor& tensor, std::int64_t rows, std::int64_t columns) {
    return tensor.count() == 0 ||
           (tensor.rows == rows && tensor.columns == columns && tensor.dtype == dtype());
  };
  return is_fp8(dtype()) && values.count() + transposed.count() > 0 &&
         is(values, x.rows, x.columns) && is(transposed, x.columns, x.rows) && scale.count() == 1 &&
         magnitude.count() == 1;
}

bool KeepBlocks::fits() const {
  const auto count = static_cast<std::int64_t>(blocks.size());
  const auto inside = [&](const RowRange& each) {
    return each.first >= 0 && each.first <= each.last && each.last <= matrix.rows;
  };
  return count > 0 && blocks.size() <= kMost && matrix.columns % count == 0 &&
         std::all_of(blocks.begin(), blocks.end(), inside);
}

bool GroupRows::fits() const {
  for (const Tensor* each : {&choices, &tokens, &places}) {
    if (each->dtype != DType::int32) return false;
  }
  if (sorted.count() > 0 && (sorted.dtype != DType::int32 || sorted.count() != tokens.count()))
    return false;
  if (offsets.count() > 0 && (offsets.dtype != DType::int32 || offsets.count() != groups + 1))
    return false;
  return chosen > 0 && chosen <= kMostChosenExperts && chosen <= choices.columns && groups > 0 &&
         per_group > 0 && places.rows == choices.rows && places.columns == (once ? groups : chosen);
}

bool MultiplyScaled::fits() const {
  const Tensor &left = a.values, &right = b.values;
  return is_fp8(left.dtype) && right.dtype == DType::fp8_e4m3 && left.columns == right.columns &&
         y.rows == left.rows && y.columns == right.rows && a.scale.count() == 1 &&
         b.scale.count() == 1 &&
         (addend.count() == 0 || (same_shape(addend, y) && addend.dtype == y.dtype));
}

bool AdamW::fits() const {
  const std::int64_t count = tensors.parameters.count();
  return holds_state(state) && tensors.fit() && tensors.first_moments.count() == count &&
         tensors.second_moments.count() == count;
}

}  // namespace duet
