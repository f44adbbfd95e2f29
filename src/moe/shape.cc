#include "moe/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "gemm/expert_models.h"
#include "training/operations/operation.h"

namespace duet {
MoeShape moe_shape_of(std::string_view model) {
  const ExpertModel& of = expert_model(model);
  return {of.name, of.hidden, of.width, of.experts, of.top_k, true};
}

std::uint64_t MoeShape::combined_bytes() const {
  return static_cast<std::uint64_t>(hidden) * size_of(dtype);
}

std::uint64_t MoeShape::dispatched_bytes() const {
  return fp8_rows ? static_cast<std::uint64_t>(bytes_of_fp8_row(hidden)) : combined_bytes();
}

std::int64_t MoeShape::capacity() const {
  const double even = static_cast<double>(tokens * chosen) / static_cast<double>(experts);
  const double rows = std::ceil(capacity_factor * even);
  return static_cast<std::int64_t>(std::min(rows, static_cast<double>(tokens)));
}

void check(const MoeShape& shape, int ranks) {
  const auto refuse = [&](const std::string& what) {
    throw UsageError(fmt::format("moe {}: {}", shape.part, what));
  };
  if (shape.experts % ranks != 0)
    refuse(fmt::format("{} experts: expected a multiple of {} ranks", shape.experts, ranks));
  const std::int64_t most = std::min(shape.experts, kMostChosenExperts);
  if (shape.chosen < 1 || shape.chosen > most)
    refuse(fmt::format("{} experts of a token: expected 1 to {}", shape.chosen, most));
  const auto element = static_cast<std::int64_t>(size_of(shape.dtype));
  for (const std::int64_t columns : {shape.hidden, shape.width}) {
    if (columns % 8 == 0 && columns * element % 16 == 0) continue;
    refuse(fmt::format("rows of {} elements: expected a multiple of 8", columns));
  }
  if (shape.fp8_rows && shape.hidden % kScaledElements != 0) {
    refuse(fmt::format("rows of {} elements: expected a multiple of {} in fp8", shape.hidden,
                       kScaledElements));
  }
}

}  // namespace duet
