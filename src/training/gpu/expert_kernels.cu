// What mixture-of-experts layers do beside their products: choices of experts, and rows that are
// sorted by them.
#include <algorithm>

#include "device/gpu/group_sum.h"
#include "device/gpu/launch.h"
#include "training/gpu/element8.h"
#include "training/gpu/kernels.h"
#include "training/operations/expert_groups.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kThreads = 256;
constexpr int kGroupThreads = 1024;  // of the block that sorts into one group
constexpr int kLoads = 4;            // rows that a thread loads at once

struct alignas(16) FourChoices {
  std::int32_t at[4];
};
bool begins_a_four(const Tensor& choices) {
  return reinterpret_cast<std::uintptr_t>(choices.span.data) % sizeof(FourChoices) == 0;
}

unsigned blocks_of(std::int64_t items, std::int64_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

// A logit and its expert: those of larger logits come first, of equal ones the lower expert.
struct Candidate {
  float logit;
  int expert;

  __device__ bool is_before(const Candidate& other) const {
    return logit != other.logit ? logit > other.logit : expert < other.expert;
  }
};

// Numbers of experts are exact in fp32.
__device__ Candidate first_of_warp(Candidate my) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    const Candidate other{shuffle_xor(my.logit, mask),
                          static_cast<int>(shuffle_xor(static_cast<float>(my.expert), mask))};
    if (other.is_before(my)) my = other;
  }
  return my;
}

template <typename T>
struct Choice {
  const T* logits;
  std::int32_t* routing;
  std::int64_t tokens;
  int experts, chosen;
  bool normalised;
};

// A warp for each token, which finds one expert after the other. Lane j keeps choice j.
template <typename T>
__global__ void choose_experts_kernel(Choice<T> c) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t token =
      static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (token >= c.tokens) return;
  const T* const logits = c.logits + token * c.experts;
  Candidate last{INFINITY, -1}, own{-INFINITY, 0};
  float largest = 0;
  for (int j = 0; j < c.chosen; ++j) {
    Candidate best{-INFINITY, c.experts};
    for (int expert = lane; expert < c.experts; expert += 32) {
      const Candidate next{as_float(logits[expert]), expert};
      if (last.is_before(next) && next.is_before(best)) best = next;
    }
    last = first_of_warp(best);
    if (j == 0) largest = last.logit;
    if (j == lane) own = last;
  }
  const bool is_choice = lane < c.chosen;
  const float weight = is_choice ? expf(own.logit - largest) : 0.0f;
  float sum = weight;
  if (!c.normalised) {
    sum = 0;
    for (int expert = lane; expert < c.experts; expert += 32)
      sum += expf(as_float(logits[expert]) - largest);
  }
  sum = warp_sum(sum);
  if (!is_choice) return;
  std::int32_t* const to = c.routing + 2 * token * c.chosen;
  to[lane] = own.expert;
  reinterpret_cast<float*>(to)[c.chosen + lane] = weight / sum;
}

struct Grouping {
  ExpertGroups groups;
  const std::int32_t* choices;
  std::int64_t count, columns;  // of tokens; of choices
  std::int32_t *tokens, *sorted, *places;
  std::int64_t most;      // entries
  std::int32_t* offsets;  // null: not asked for
  bool in_fours;          // each token's choices begin at a multiple of 16 bytes
  __device__ std::int32_t within(std::int64_t at) const {
    return static_cast<std::int32_t>(at < most ? at : most);
  }
};

// Sums of the values of all threads before each, and of all.
struct Before {
  int own, all;
};
__device__ Before sums_before(int value) {
  __shared__ int sums[kGroupThreads];
  const int my = static_cast<int>(threadIdx.x);
  __syncthreads();  // the sums of the call before have been read
  sums[my] = value;
  __syncthreads();
  for (int by = 1; by < kGroupThreads; by *= 2) {
    const int before = my >= by ? sums[my - by] : 0;
    __syncthreads();
    sums[my] += before;
    __syncthreads();
  }
  return {sums[my] - value, sums[kGroupThreads - 1]};
}

constexpr int kChoices = 8;  // that a thread loads at once: one alone would wait for memory
// A token's choices from number `first` on; what is behind the last one is unspecified. A row of
// choices may be longer than these, but has whole fours of them.
__device__ void load_choices(const Grouping& g, const std::int32_t* of_token, int first,
                             std::int32_t (&choice)[kChoices]) {
  const int left = g.groups.chosen - first;
  if (!g.in_fours) {
#pragma unroll
    for (int j = 0; j < kChoices; ++j) choice[j] = j < left ? of_token[first + j] : -1;
    return;
  }
#pragma unroll
  for (int four = 0; four < kChoices; four += 4) {
    FourChoices loaded = {};
    if (four < left) loaded = *reinterpret_cast<const FourChoices*>(of_token + first + four);
#pragma unroll
    for (int j = 0; j < 4; ++j) choice[four + j] = loaded.at[j];
  }
}

// Calls take(token, j, group, choice) for each entry of the tokens [begin, end).
template <typename Take>
__device__ void each_entry(const Grouping& g, std::int64_t begin, std::int64_t end, Take take) {
  const int chosen = g.groups.chosen;
  for (std::int64_t token = begin; token < end; ++token) {
    const std::int32_t* const choices = g.choices + token * g.columns;
    for (int first = 0; first < chosen; first += kChoices) {
      std::int32_t choice[kChoices] = {};
      load_choices(g, choices, first, choice);
      int group[kChoices];
#pragma unroll
      for (int j = 0; j < kChoices; ++j) group[j] = g.groups.group(choice[j]);
#pragma unroll
      for (int j = 0; j < kChoices; ++j) {
        bool repeats = g.groups.once && g.groups.repeats(choices, first, group[j]);
#pragma unroll
        for (int before = 0; before < kChoices; ++before)
          repeats = repeats || (g.groups.once && before < j && group[before] == group[j]);
        const bool is_entry = first + j < chosen && !(repeats && group[j] >= 0);
        if (is_entry) take(token, first + j, group[j], choice[j]);
      }
    }
  }
}

// A block for each group. A thread has neighbouring tokens, so that their entries keep their order.
__global__ void group_rows_kernel(Grouping g) {
  const int own = static_cast<int>(blockIdx.x);
  const std::int64_t each = (g.count + kGroupThreads - 1) / kGroupThreads;
  const std::int64_t begin = threadIdx.x * each, last = begin + each;
  const std::int64_t end = last < g.count ? last : g.count;
  int mine = 0, lower = 0;  // entries of this group, and of groups before it
  each_entry(g, begin, end, [&](std::int64_t, int, int group, std::int32_t) {
    if (group >= 0 && group < own) ++lower;
    if (group == own) ++mine;
  });
  const int begins = sums_before(lower).all;
  const Before entries = sums_before(mine);
  std::int64_t at = begins + entries.own;
  if (g.offsets != nullptr && threadIdx.x == 0) {
    g.offsets[own] = g.within(begins);
    if (own + 1 == g.groups.groups) g.offsets[own + 1] = g.within(begins + entries.all);
  }
  if (g.groups.once) {
    for (std::int64_t token = begin; token < end; ++token)
      g.places[token * g.groups.groups + own] = -1;
  }
  const bool tells_left_out = own == 0 && !g.groups.once;
  if (mine == 0 && !tells_left_out) return;
  each_entry(g, begin, end, [&](std::int64_t token, int j, int group, std::int32_t choice) {
    const bool leaves_out = group < 0 && tells_left_out;
    if (group != own && !leaves_out) return;
    std::int32_t& place = g.groups.once ? g.places[token * g.groups.groups + own]
                                        : g.places[token * g.groups.chosen + j];
    place = leaves_out || at >= g.most ? -1 : static_cast<std::int32_t>(at);
    if (leaves_out) return;
    if (at < g.most) {
      g.tokens[at] = static_cast<std::int32_t>(token);
      if (g.sorted != nullptr) g.sorted[at] = choice;
    }
    ++at;
  });
}

// A thread for each choice.
__global__ void limit_choices_kernel(std::int32_t* routing, const std::int32_t* places,
                                     const std::int32_t* offsets, std::int64_t count, int chosen,
                                     std::int64_t capacity) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  std::int32_t& choice = routing[i / chosen * 2 * chosen + i % chosen];
  if (places[i] - offsets[choice] >= capacity) choice = -1;
}

// `units`: of a row. `count`: null, or fewer rows.
template <typename Unit>
__global__ void gather_rows_kernel(const Unit* x, const std::int32_t* index, Unit* y,
                                   std::int64_t rows, std::int64_t units,
                                   const std::int32_t* count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= rows * units || (count != nullptr && i >= *count * units)) return;
  y[i] = x[index[i / units] * units + i % units];
}

template <typename T>
struct Combination {
  const T* x;
  const std::int32_t* places;
  const float* routing;  // null: all weights are 1
  T* y;
  std::int64_t columns;
  int count;  // places of a token
};

// A thread has eight columns of a token; grids are (tokens, blocks of a row).
template <typename T>
__global__ void combine_rows_kernel(Combination<T> c) {
  const std::int64_t token = blockIdx.x;
  const std::int64_t column =
      8 * (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x);
  if (column >= c.columns) return;
  const std::int32_t* const places = c.places + token * c.count;
  const float* const weights =
      c.routing != nullptr ? c.routing + 2 * token * c.count + c.count : nullptr;
  float sum[8] = {};
  for (int first = 0; first < c.count; first += kLoads) {
    float row[kLoads][8];
#pragma unroll
    for (int j = 0; j < kLoads; ++j) {
      const bool is_there = first + j < c.count && places[first + j] >= 0;
      if (is_there) load8(c.x + places[first + j] * c.columns + column, row[j]);
    }
#pragma unroll
    for (int j = 0; j < kLoads; ++j) {
      if (first + j >= c.count || places[first + j] < 0) continue;
      const float weight = weights != nullptr ? weights[first + j] : 1.0f;
#pragma unroll
      for (int k = 0; k < 8; ++k) sum[k] += weight * row[j][k];
    }
  }
  store8(c.y + token * c.columns + column, sum);
}

template <typename Unit>
void launch_gather(const GatherRows& o, std::int64_t row_bytes, Stream& stream) {
  const std::int64_t units = row_bytes / static_cast<std::int64_t>(sizeof(Unit));
  launch(gather_rows_kernel<Unit>, {blocks_of(o.y.rows * units, kThreads), kThreads}, stream,
         data<Unit>(o.x), data<std::int32_t>(o.index), data<Unit>(o.y), o.y.rows, units,
         o.count.count() > 0 ? data<std::int32_t>(o.count) : nullptr);
}

}  // namespace

void launch(const ChooseExperts& o, Stream& stream) {
  if (o.routing.rows == 0) return;
  by_type(o.logits.dtype, [&](auto element) {
    using T = decltype(element);
    const Choice<T> choice{data<T>(o.logits),
                           data<std::int32_t>(o.routing),
                           o.routing.rows,
                           static_cast<int>(o.logits.columns),
                           static_cast<int>(o.chosen()),
                           o.normalised};
    launch(choose_experts_kernel<T>, {blocks_of(o.routing.rows, kThreads / 32), kThreads}, stream,
           choice);
  });
}

void launch(const GroupRows& o, Stream& stream) {
  if (o.choices.rows == 0 && o.offsets.count() == 0) return;
  const Grouping grouping{groups_of(o),
                          data<std::int32_t>(o.choices),
                          o.choices.rows,
                          o.choices.columns,
                          data<std::int32_t>(o.tokens),
                          o.sorted.count() > 0 ? data<std::int32_t>(o.sorted) : nullptr,
                          data<std::int32_t>(o.places),
                          o.tokens.count(),
                          o.offsets.count() > 0 ? data<std::int32_t>(o.offsets) : nullptr,
                          o.choices.columns % 4 == 0 && begins_a_four(o.choices)};
  launch(group_rows_kernel, {static_cast<unsigned>(o.groups), kGroupThreads}, stream, grouping);
}

void launch(const LimitChoices& o, Stream& stream) {
  const std::int64_t choices = o.places.count();
  if (choices == 0) return;
  launch(limit_choices_kernel, {blocks_of(choices, kThreads), kThreads}, stream,
         data<std::int32_t>(o.routing), data<std::int32_t>(o.places), data<std::int32_t>(o.offsets),
         choices, static_cast<int>(o.places.columns), o.capacity);
}

void launch(const GatherRows& o, Stream& stream) {
  if (o.y.count() == 0) return;
  const auto row_bytes = o.y.columns * static_cast<std::int64_t>(size_of(o.y.dtype));
  if (row_bytes % 16 == 0) return launch_gather<Words4>(o, row_bytes, stream);
  launch_gather<std::uint32_t>(o, row_bytes, stream);
}

void launch(const CombineRows& o, Stream& stream) {
  if (o.y.count() == 0) return;
  by_type(o.y.dtype, [&](auto element) {
    using T = decltype(element);
    const Combination<T> combination{data<T>(o.x),
                                     data<std::int32_t>(o.places),
                                     o.weighs() ? data<float>(o.routing) : nullptr,
                                     data<T>(o.y),
                                     o.y.columns,
                                     static_cast<int>(o.places.columns)};
    const dim3 grid(static_cast<unsigned>(o.y.rows), blocks_of(o.y.columns / 8, kThreads));
    launch(combine_rows_kernel<T>, {grid, kThreads}, stream, combination);
  });
}

}  // namespace duet::DUET_GPU
