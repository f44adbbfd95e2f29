#include "training/host/experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/error.h"
#include "training/host/product.h"
#include "training/operations/expert_groups.h"
#include "training/operations/fp8_rows.h"

namespace duet {
namespace {

template <class T>
T* row_of(const Tensor& tensor, std::int64_t row) {
  return reinterpret_cast<T*>(tensor.span.data) + row * tensor.columns;
}

// Throws BadArgument.
void require_index(const std::int32_t* index, std::int64_t rows, std::int64_t within) {
  for (std::int64_t r = 0; r < rows; ++r) {
    if (index[r] >= 0 && index[r] < within) continue;
    throw BadArgument(
        fmt::format("rows must be in [0, {}), but row {} of the index is {}", within, r, index[r]));
  }
}

}  // namespace

void choose_experts(const ChooseExperts& o) {
  const std::int64_t experts = o.logits.columns, chosen = o.chosen();
#pragma omp parallel for schedule(static)
  for (std::int64_t t = 0; t < o.routing.rows; ++t) {
    choose(row_of<const float>(o.logits, t), experts, chosen, o.normalised,
           row_of<std::int32_t>(o.routing, t), row_of<float>(o.routing, t) + chosen);
  }
}

void group_rows(const GroupRows& o) {
  const ExpertGroups groups = groups_of(o);
  std::vector<std::int32_t> next(static_cast<std::size_t>(o.groups) + 1);
  const auto each_entry = [&](const auto& take) {
    for (std::int64_t t = 0; t < o.choices.rows; ++t) {
      const std::int32_t* const choices = row_of<const std::int32_t>(o.choices, t);
      for (int j = 0; j < groups.chosen; ++j) {
        if (groups.begins_entry(choices, j)) take(t, j, groups.group(choices[j]), choices[j]);
      }
    }
  };
  each_entry([&](std::int64_t, int, int group, std::int32_t) { ++next[1 + group]; });
  std::partial_sum(next.begin(), next.end(), next.begin());
  const auto most = static_cast<std::int32_t>(o.tokens.count());
  std::transform(next.begin(), next.begin() + o.offsets.count(), row_of<std::int32_t>(o.offsets, 0),
                 [most](std::int32_t begin) { return std::min(begin, most); });
  std::fill_n(row_of<std::int32_t>(o.places, 0), o.places.count(), -1);
  each_entry([&](std::int64_t t, int j, int group, std::int32_t choice) {
    const std::int32_t at = next[group]++;
    if (at >= most) return;
    row_of<std::int32_t>(o.places, t)[o.once ? group : j] = at;
    row_of<std::int32_t>(o.tokens, 0)[at] = static_cast<std::int32_t>(t);
    if (o.sorted.count() > 0) row_of<std::int32_t>(o.sorted, 0)[at] = choice;
  });
}

void gather_rows(const GatherRows& o) {
  const std::size_t bytes = o.y.rows == 0 ? 0 : o.y.bytes() / static_cast<std::size_t>(o.y.rows);
  const std::int32_t* const index = row_of<const std::int32_t>(o.index, 0);
  const std::int64_t rows =
      o.count.count() == 0
          ? o.y.rows
          : std::min<std::int64_t>(*row_of<const std::int32_t>(o.count, 0), o.y.rows);
  require_index(index, rows, o.x.rows);
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < rows; ++r) {
    std::memcpy(o.y.span.data + static_cast<std::size_t>(r) * bytes,
                o.x.span.data + static_cast<std::size_t>(index[r]) * bytes, bytes);
  }
}

void combine_rows(const CombineRows& o) {
#pragma omp parallel for schedule(static)
  for (std::int64_t t = 0; t < o.y.rows; ++t) {
    const std::int32_t* const places = row_of<const std::int32_t>(o.places, t);
    const float* const weights =
        o.weighs() ? row_of<const float>(o.routing, t) + o.places.columns : nullptr;
    float* const sum = row_of<float>(o.y, t);
    std::fill_n(sum, o.y.columns, 0.0f);
    for (std::int64_t j = 0; j < o.places.columns; ++j) {
      if (places[j] < 0) continue;
      const float* const row = row_of<const float>(o.x, places[j]);
      const float weight = weights != nullptr ? weights[j] : 1;
      for (std::int64_t c = 0; c < o.y.columns; ++c) sum[c] += weight * row[c];
    }
  }
}

// Of a softmax p over the chosen ones: dlogit_j = p_j (dp_j - sum of p_i dp_i).
void choose_experts_backward(const ChooseExpertsBackward& o) {
  const std::int64_t chosen = o.chosen();
#pragma omp parallel for schedule(static)
  for (std::int64_t t = 0; t < o.routing.rows; ++t) {
    const std::int32_t* const choices = row_of<const std::int32_t>(o.routing, t);
    const float* const weights = row_of<const float>(o.routing, t) + chosen;
    const float* const dweights = row_of<const float>(o.dweights, t);
    float* const dlogits = row_of<float>(o.dlogits, t);
    std::fill_n(dlogits, o.dlogits.columns, 0.0f);
    const float mean = std::inner_product(weights, weights + chosen, dweights, 0.0f);
    for (std::int64_t j = 0; j < chosen; ++j) {
      if (choices[j] >= 0 && choices[j] < o.dlogits.columns)
        dlogits[choices[j]] = weights[j] * (dweights[j] - mean);
    }
  }
}

void limit_choices(const LimitChoices& o) {
  const std::int32_t* const offsets = row_of<const std::int32_t>(o.offsets, 0);
  for (std::int64_t t = 0; t < o.routing.rows; ++t) {
    std::int32_t* const choices = row_of<std::int32_t>(o.routing, t);
    const std::int32_t* const places = row_of<const std::int32_t>(o.places, t);
    for (std::int64_t j = 0; j < o.places.columns; ++j) {
      if (places[j] - offsets[choices[j]] >= o.capacity) choices[j] = -1;
    }
  }
}

void combine_rows_backward(const CombineRowsBackward& o) {
#pragma omp parallel for schedule(static)
  for (std::int64_t t = 0; t < o.dy.rows; ++t) {
    const std::int32_t* const places = row_of<const std::int32_t>(o.places, t);
    const float* const weights = row_of<const float>(o.routing, t) + o.places.columns;
    const float* const dy = row_of<const float>(o.dy, t);
    float* const dweights = row_of<float>(o.dweights, t);
    std::fill_n(dweights, o.dweights.columns, 0.0f);
    for (std::int64_t j = 0; j < o.places.columns; ++j) {
      if (places[j] < 0) continue;
      const float* const x = row_of<const float>(o.x, places[j]);
      float* const dx = row_of<float>(o.dx, places[j]);
      for (std::int64_t c = 0; c < o.dy.columns; ++c) {
        dweights[j] += x[c] * dy[c];
        dx[c] = weights[j] * dy[c];
      }
    }
  }
}

std::int64_t rows_there(const GroupedRows& groups, std::int64_t rows) {
  if (groups.offsets.count() == 0) return rows;
  return std::min<std::int64_t>(row_of<const std::int32_t>(groups.offsets, 0)[groups.groups()],
                                rows);
}

namespace {

// Columns of a product that a thread makes at a time, of one group.
constexpr std::int64_t kBlock = 64;

// Calls make(group, its rows, block) for all groups with rows and all blocks of so many columns,
// on all threads.
template <typename Make>
void for_each_block(const GroupedRows& groups, std::int64_t rows, std::int64_t columns,
                    const Make& make) {
  const std::int64_t blocks = (columns + kBlock - 1) / kBlock;
  const std::int32_t* const begins = row_of<const std::int32_t>(groups.offsets, 0);
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < groups.groups() * blocks; ++i) {
    const std::int64_t group = i / blocks, first = i % blocks * kBlock;
    const RowRange own{std::min<std::int64_t>(begins[group], rows),
                       std::min<std::int64_t>(begins[group + 1], rows)};
    make(group, own, RowRange{first, std::min(first + kBlock, columns)});
  }
}

}  // namespace

void grouped_linear(const GroupedLinear& o) {
  const std::int64_t in = o.x.columns, out = o.y.columns;
  for_each_block(o.rows, o.x.rows, out, [&](std::int64_t group, RowRange rows, RowRange block) {
    if (rows.count() == 0) return;
    std::vector<float> turned(static_cast<std::size_t>(in * block.count()));  // w^T of the block
    for (std::int64_t c = block.first; c < block.last; ++c) {
      const float* const w = row_of<const float>(o.w, group * out + c);
      for (std::int64_t k = 0; k < in; ++k)
        turned[static_cast<std::size_t>(k * block.count() + c - block.first)] = w[k];
    }
    for (std::int64_t r = rows.first; r < rows.last; ++r)
      std::fill_n(row_of<float>(o.y, r) + block.first, block.count(), 0.0f);
    add_product<float>({row_of<const float>(o.x, rows.first), in, 1}, turned.data(), block.count(),
                       row_of<float>(o.y, rows.first) + block.first, out, rows.count(),
                       block.count(), in);
  });
}

void grouped_linear_backward_input(const GroupedLinearBackwardInput& o) {
  const std::int64_t in = o.dx.columns, out = o.dy.columns;
  for_each_block(o.rows, o.dy.rows, in, [&](std::int64_t group, RowRange rows, RowRange block) {
    for (std::int64_t r = rows.first; r < rows.last; ++r)
      std::fill_n(row_of<float>(o.dx, r) + block.first, block.count(), 0.0f);
    add_product<float>({row_of<const float>(o.dy, rows.first), out, 1},
                       row_of<const float>(o.w, group * out) + block.first, in,
                       row_of<float>(o.dx, rows.first) + block.first, in, rows.count(),
                       block.count(), out);
  });
}

void grouped_linear_backward_weight(const GroupedLinearBackwardWeight& o) {
  const std::int64_t in = o.x.columns, out = o.dy.columns;
  for_each_block(o.rows, o.dy.rows, in, [&](std::int64_t group, RowRange rows, RowRange block) {
    for (std::int64_t c = 0; c < out && o.accumulate == Accumulate::no; ++c)
      std::fill_n(row_of<float>(o.dw, group * out + c) + block.first, block.count(), 0.0f);
    add_product<float>({row_of<const float>(o.dy, rows.first), 1, out},
                       row_of<const float>(o.x, rows.first) + block.first, in,
                       row_of<float>(o.dw, group * out) + block.first, in, out, block.count(),
                       rows.count());
  });
}

void quantise_rows(const QuantiseRows& o) {
#pragma omp parallel for schedule(static)
  for (std::int64_t t = 0; t < o.x.rows; ++t)
    quantise_row(row_of<const float>(o.x, t), o.x.columns, row_of<std::uint8_t>(o.y, t));
}

void gather_fp8_rows(const GatherFp8Rows& o) {
  const std::int32_t* const index = row_of<const std::int32_t>(o.index, 0);
  require_index(index, o.y.rows, o.x.rows);
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < o.y.rows; ++r)
    dequantise_row(row_of<const std::uint8_t>(o.x, index[r]), o.y.columns, row_of<float>(o.y, r));
}

}  // namespace duet
