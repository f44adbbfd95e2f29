// What works on elements by themselves: random numbers, tokens, embeddings, activations.
#include <algorithm>
#include <type_traits>

#include "core/random.h"
#include "device/gpu/launch.h"
#include "gemm/epilogue.h"
#include "training/gpu/element8.h"
#include "training/gpu/kernels.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kThreads = 256;
constexpr int kTokenThreads = 128;  // of a block that sums the rows of one token
constexpr int kTokenLoads = 8;      // of one of its threads at once

__device__ std::int64_t my_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

unsigned blocks_for(std::int64_t items, int threads = kThreads) {
  return static_cast<unsigned>((items + threads - 1) / threads);
}

template <typename T>
__global__ void normal_elements_kernel(std::uint64_t seed, std::int64_t first, float deviation,
                                       T* to, std::int64_t count, std::int64_t columns,
                                       std::int64_t step) {
  const std::int64_t i = my_index();
  if (i >= count) return;
  const std::int64_t number = first + i / columns * step + i % columns;
  store_one(to + i, deviation * random_normal(seed, static_cast<std::uint64_t>(number)));
}

template <typename T>
__global__ void value_kernel(float value, T* to, std::int64_t count) {
  const std::int64_t i = my_index();
  if (i < count) store_one(to + i, value);
}

template <typename T>
__global__ void scale_kernel(float factor, T* values, std::int64_t count) {
  const std::int64_t i = my_index();
  if (i < count) store_one(values + i, factor * as_float(values[i]));
}

template <typename T>
__global__ void add_kernel(const T* a, const T* b, T* sum, std::int64_t packs) {
  const std::int64_t i = my_index();
  if (i >= packs) return;
  float one[8], other[8];
  load8(a + 8 * i, one);
  load8(b + 8 * i, other);
#pragma unroll
  for (int k = 0; k < 8; ++k) one[k] += other[k];
  store8(sum + 8 * i, one);
}

template <typename T>
struct Blocks {
  T* matrix;
  std::int64_t rows, columns, width;  // width: columns of a block
  RowRange all[KeepBlocks::kMost];
};

template <typename T>
__global__ void keep_blocks_kernel(Blocks<T> b) {
  const std::int64_t i = my_index();
  if (i >= b.rows * b.columns) return;
  const std::int64_t row = i / b.columns;
  const RowRange own = b.all[i % b.columns / b.width];
  if (row < own.first || row >= own.last) store_one(b.matrix + i, 0.0f);
}

__global__ void advance_kernel(StepState* state) { ++state->step; }

template <typename T>
__global__ void random_elements_kernel(const StepState* state, std::uint64_t column, T* to,
                                       std::int64_t count) {
  const std::int64_t i = my_index();
  if (i >= count) return;
  store_one(to + i, random_normal(seed_of(*state, column), static_cast<std::uint64_t>(i)));
}

__global__ void random_tokens_kernel(const StepState* state, std::uint64_t vocabulary,
                                     std::uint64_t column, std::int32_t* tokens,
                                     std::int64_t count) {
  const std::int64_t i = my_index();
  if (i >= count) return;
  const std::uint64_t seed = seed_of(*state, column);
  tokens[i] =
      static_cast<std::int32_t>(random_word(seed, static_cast<std::uint64_t>(i)) % vocabulary);
}

template <typename T>
struct EmbeddingArguments {
  const std::int32_t* tokens;
  const T *token_table, *position_table;
  T* x;
  std::int64_t rows, columns, length;  // length 0: without positions
  std::int64_t tokens_of_table;
  VocabularyPart part;
};

template <typename T>
__global__ void embedding_kernel(EmbeddingArguments<T> e) {
  const std::int64_t packs = e.columns / 8, i = my_index();
  if (i >= e.rows * packs) return;
  const std::int64_t row = i / packs, column = 8 * (i % packs);
  float sum[8] = {}, position[8] = {};
  const std::int64_t token_row = e.part.row_of(e.tokens[row], e.tokens_of_table);
  if (token_row >= 0) load8(e.token_table + token_row * e.columns + column, sum);
  if (e.length > 0) load8(e.position_table + row % e.length * e.columns + column, position);
#pragma unroll
  for (int k = 0; k < 8; ++k) sum[k] += position[k];
  store8(e.x + row * e.columns + column, sum);
}

template <typename T, typename Gradient>
struct EmbeddingGradients {
  const std::int32_t* tokens;
  const T* dx;
  Gradient *dtoken_table, *dposition_table;
  std::int64_t rows, columns, length;
  bool add;  // to dposition_table
  std::int64_t tokens_of_table;
  VocabularyPart part;

  // Of the row's token in the table's gradient; -1: it has none.
  __device__ std::int64_t token_row(std::int64_t row) const {
    return part.row_of(tokens[row], tokens_of_table);
  }
};

template <typename T, typename Gradient>
__global__ void position_gradient_kernel(EmbeddingGradients<T, Gradient> e) {
  const std::int64_t packs = e.columns / 8, i = my_index();
  if (i >= e.length * packs) return;
  const std::int64_t position = i / packs, column = 8 * (i % packs);
  Gradient* const to = e.dposition_table + position * e.columns + column;
  float sum[8] = {};
  if (e.add) load8(to, sum);
  for (std::int64_t row = position; row < e.rows; row += e.length) {
    float dx[8];
    load8(e.dx + row * e.columns + column, dx);
#pragma unroll
    for (int k = 0; k < 8; ++k) sum[k] += dx[k];
  }
  store8(to, sum);
}

// How often a token occurs, and the first row with it.
struct Occurrences {
  unsigned count, first;
};
static_assert(sizeof(Occurrences) == kOccurrenceWords * 4);

__global__ void clear_occurrences_kernel(Occurrences* of_token, std::int64_t vocabulary) {
  const std::int64_t token = my_index();
  if (token < vocabulary) of_token[token] = {0, ~0u};
}

template <typename T, typename Gradient>
__global__ void count_occurrences_kernel(EmbeddingGradients<T, Gradient> e, Occurrences* of_token) {
  const std::int64_t row = my_index();
  if (row >= e.rows || e.token_row(row) < 0) return;
  Occurrences& own = of_token[e.token_row(row)];
  atomicAdd(&own.count, 1u);
  atomicMin(&own.first, static_cast<unsigned>(row));
}

// The block of the first row with a token sums all rows with it, in their order; the blocks of
// further rows with the token end at once. So no two blocks write one row, and bits repeat.
template <typename T, typename Gradient>
__global__ void token_gradient_kernel(EmbeddingGradients<T, Gradient> e,
                                      const Occurrences* of_token) {
  constexpr int kSpan = kTokenLoads * kTokenThreads;
  __shared__ union {
    std::uint8_t row[kSpan];
    std::uint64_t rows[kSpan / 8];
  } found;
  const std::int64_t first = blockIdx.x;
  const std::int32_t token = e.tokens[first];
  const std::int64_t token_row = e.token_row(first);
  if (token_row < 0) return;
  const Occurrences own = of_token[token_row];
  if (own.first != first) return;
  const std::int64_t column =
      8 * (static_cast<std::int64_t>(blockIdx.y) * kTokenThreads + threadIdx.x);
  const bool inside = column < e.columns;
  Gradient* const to = e.dtoken_table + token_row * e.columns + column;
  float sum[8] = {};
  const auto add_row = [&](std::int64_t row) {
    float dx[8];
    load8(e.dx + row * e.columns + column, dx);
#pragma unroll
    for (int k = 0; k < 8; ++k) sum[k] += dx[k];
  };
  if (inside) {
    load8(to, sum);
    add_row(first);
  }
  unsigned left = own.count - 1;  // the same for all threads of the block
  for (std::int64_t begin = first + 1; left > 0 && begin < e.rows; begin += kSpan) {
    bool match[kTokenLoads];
    bool any = false;
#pragma unroll
    for (int k = 0; k < kTokenLoads; ++k) {
      const std::int64_t row = begin + k * kTokenThreads + threadIdx.x;
      match[k] = row < e.rows && e.tokens[row] == token;
      any = any || match[k];
    }
    if (__syncthreads_or(any) == 0) continue;
#pragma unroll
    for (int k = 0; k < kTokenLoads; ++k) found.row[k * kTokenThreads + threadIdx.x] = match[k];
    __syncthreads();
    for (int eight = 0; eight < kSpan; eight += 8) {
      if (found.rows[eight / 8] == 0) continue;
      for (int i = eight; i < eight + 8; ++i) {
        if (found.row[i] == 0) continue;
        --left;
        if (inside) add_row(begin + i);
      }
    }
  }
  if (inside) store8(to, sum);
}

struct ReluFunction {
  __device__ static float value(float x) { return x < 0 ? 0.0f : x; }  // NaN stays
  // By its result.
  __device__ static float backward(float y, float dy) { return y <= 0 ? 0.0f : dy; }
};

// In the tanh form.
struct GeluFunction {
  static constexpr float kSlope = static_cast<float>(kGeluSlope);
  static constexpr float kCubic = static_cast<float>(kGeluCubic);

  // 1 / (1 + exp(-2u)), which is (1 + tanh(u)) / 2 without cancellation.
  __device__ static float sigmoid(float x) {
    const float u = kSlope * (x + kCubic * x * x * x);
    return __fdividef(1.0f, 1.0f + __expf(-2.0f * u));
  }
  __device__ static float value(float x) { return x * sigmoid(x); }
  __device__ static float backward(float x, float dy) {
    const float s = sigmoid(x);
    const float slope = 2.0f * kSlope * (1.0f + 3.0f * kCubic * x * x);
    return dy * (s + x * s * (1.0f - s) * slope);
  }
};

template <typename Function, typename T>
__global__ void activation_kernel(const T* x, T* y, std::int64_t packs) {
  const std::int64_t i = my_index();
  if (i >= packs) return;
  float value[8];
  load8(x + 8 * i, value);
#pragma unroll
  for (int k = 0; k < 8; ++k) value[k] = Function::value(value[k]);
  store8(y + 8 * i, value);
}

template <typename Function, typename T>
__global__ void activation_backward_kernel(const T* at, const T* dy, T* dx, std::int64_t packs) {
  const std::int64_t i = my_index();
  if (i >= packs) return;
  float value[8], gradient[8];
  load8(at + 8 * i, value);
  load8(dy + 8 * i, gradient);
#pragma unroll
  for (int k = 0; k < 8; ++k) gradient[k] = Function::backward(value[k], gradient[k]);
  store8(dx + 8 * i, gradient);
}

template <typename Function>
void launch_activation(const Tensor& x, const Tensor& y, Stream& stream) {
  by_type(x.dtype, [&](auto element) {
    using T = decltype(element);
    launch(activation_kernel<Function, T>, {blocks_for(x.count() / 8), kThreads}, stream,
           data<T>(x), data<T>(y), x.count() / 8);
  });
}

// `at`: x, or, of ReLU, its result.
template <typename Function>
void launch_activation_backward(const Tensor& at, const Tensor& dy, const Tensor& dx,
                                Stream& stream) {
  by_type(at.dtype, [&](auto element) {
    using T = decltype(element);
    launch(activation_backward_kernel<Function, T>, {blocks_for(at.count() / 8), kThreads}, stream,
           data<T>(at), data<T>(dy), data<T>(dx), at.count() / 8);
  });
}

// A thread has eight columns of a row; grids are (rows, blocks of a row).
struct RowPack {
  std::int64_t row = blockIdx.x;
  std::int64_t column = 8 * (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x);

  // `end`: of the rows that are there; null: all are.
  __device__ bool is_there(std::int64_t columns, const std::int32_t* end) const {
    return column < columns && (end == nullptr || row < *end);
  }
};

// Where the last group's rows end; null without groups.
const std::int32_t* end_of(const GroupedRows& rows) {
  return rows.offsets.count() > 0 ? data<std::int32_t>(rows.offsets) + rows.groups() : nullptr;
}

dim3 row_packs(const Tensor& tensor) {
  return dim3(static_cast<unsigned>(tensor.rows), blocks_for(tensor.columns / 8));
}

__device__ float logistic(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

template <typename T>
__device__ void store_gated(T* to, const float (&value)[8], float) {
  store8(to, value);
}
__device__ void store_gated(std::uint8_t* to, const float (&value)[8], float factor) {
  *reinterpret_cast<Words2*>(to) = packed_fp8<E4M3>(value, factor);
}

template <typename T, typename Y>
__global__ void swiglu_kernel(const T* gate_up, Y* y, std::int64_t columns, float factor,
                              const std::int32_t* end) {
  const RowPack my;
  if (!my.is_there(columns, end)) return;
  const T* const from = gate_up + 2 * my.row * columns + my.column;
  float gate[8], up[8];
  load8(from, gate);
  load8(from + columns, up);
#pragma unroll
  for (int k = 0; k < 8; ++k) up[k] *= gate[k] * logistic(gate[k]);
  store_gated(y + my.row * columns + my.column, up, factor);
}

template <typename T>
__global__ void swiglu_backward_kernel(const T* gate_up, const T* dy, T* dgate_up,
                                       std::int64_t columns, const std::int32_t* end) {
  const RowPack my;
  if (!my.is_there(columns, end)) return;
  const std::int64_t at = 2 * my.row * columns + my.column;
  float gate[8], up[8], gradient[8];
  load8(gate_up + at, gate);
  load8(gate_up + at + columns, up);
  load8(dy + my.row * columns + my.column, gradient);
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const float sigmoid = logistic(gate[k]);
    const float dgate = gradient[k] * up[k] * sigmoid * (1.0f + gate[k] * (1.0f - sigmoid));
    up[k] = gradient[k] * gate[k] * sigmoid;
    gate[k] = dgate;
  }
  store8(dgate_up + at, gate);
  store8(dgate_up + at + columns, up);
}

const StepState* state_at(const Span& state) {
  return reinterpret_cast<const StepState*>(state.data);
}

}  // namespace

void launch(const FillNormal& o, Stream& stream) {
  by_type(o.tensor.dtype, [&](auto element) {
    using T = decltype(element);
    launch(normal_elements_kernel<T>, {blocks_for(o.tensor.count()), kThreads}, stream, o.seed,
           o.first, static_cast<float>(o.deviation), data<T>(o.tensor), o.tensor.count(),
           o.tensor.columns, o.step());
  });
}

void launch(const FillValue& o, Stream& stream) {
  by_type(o.tensor.dtype, [&](auto element) {
    using T = decltype(element);
    launch(value_kernel<T>, {blocks_for(o.tensor.count()), kThreads}, stream,
           static_cast<float>(o.value), data<T>(o.tensor), o.tensor.count());
  });
}

void launch(const Scale& o, Stream& stream) {
  by_type(o.tensor.dtype, [&](auto element) {
    using T = decltype(element);
    launch(scale_kernel<T>, {blocks_for(o.tensor.count()), kThreads}, stream,
           static_cast<float>(o.factor), data<T>(o.tensor), o.tensor.count());
  });
}

void launch(const Add& o, Stream& stream) {
  by_type(o.sum.dtype, [&](auto element) {
    using T = decltype(element);
    const std::int64_t packs = o.sum.count() / 8;
    launch(add_kernel<T>, {blocks_for(packs), kThreads}, stream, data<T>(o.a), data<T>(o.b),
           data<T>(o.sum), packs);
  });
}

void launch(const KeepBlocks& o, Stream& stream) {
  by_type(o.matrix.dtype, [&](auto element) {
    using T = decltype(element);
    Blocks<T> own{data<T>(o.matrix),
                  o.matrix.rows,
                  o.matrix.columns,
                  o.matrix.columns / static_cast<std::int64_t>(o.blocks.size()),
                  {}};
    std::copy(o.blocks.begin(), o.blocks.end(), own.all);
    launch(keep_blocks_kernel<T>, {blocks_for(o.matrix.count()), kThreads}, stream, own);
  });
}

void launch(const Advance& o, Stream& stream) {
  launch(advance_kernel, {1, 1}, stream, reinterpret_cast<StepState*>(o.state.data));
}

void launch(const RandomTokens& o, Stream& stream) {
  launch(random_tokens_kernel, {blocks_for(o.tokens.count()), kThreads}, stream, state_at(o.state),
         static_cast<std::uint64_t>(o.vocabulary), o.column, data<std::int32_t>(o.tokens),
         o.tokens.count());
}

void launch(const Embedding& o, Stream& stream) {
  by_type(o.x.dtype, [&](auto element) {
    using T = decltype(element);
    const EmbeddingArguments<T> e{data<std::int32_t>(o.tokens),
                                  data<T>(o.token_table),
                                  data<T>(o.position_table),
                                  data<T>(o.x),
                                  o.x.rows,
                                  o.x.columns,
                                  o.position_table.rows,
                                  o.token_table.rows,
                                  o.part};
    launch(embedding_kernel<T>, {blocks_for(o.x.count() / 8), kThreads}, stream, e);
  });
}

void launch(const EmbeddingBackward& o, void* occurrences, Stream& stream) {
  auto* const of_token = static_cast<Occurrences*>(occurrences);
  launch(clear_occurrences_kernel, {blocks_for(o.dtoken_table.rows), kThreads}, stream, of_token,
         o.dtoken_table.rows);
  by_type(o.dx.dtype, [&](auto element) {
    by_type(o.dtoken_table.dtype, [&](auto gradient) {
      using T = decltype(element);
      using Gradient = decltype(gradient);
      const EmbeddingGradients<T, Gradient> e{data<std::int32_t>(o.tokens),
                                              data<T>(o.dx),
                                              data<Gradient>(o.dtoken_table),
                                              data<Gradient>(o.dposition_table),
                                              o.dx.rows,
                                              o.dx.columns,
                                              o.dposition_table.rows,
                                              o.positions == Accumulate::yes,
                                              o.dtoken_table.rows,
                                              o.part};
      launch(count_occurrences_kernel<T, Gradient>, {blocks_for(o.dx.rows), kThreads}, stream, e,
             of_token);
      if (o.dposition_table.count() > 0) {
        launch(position_gradient_kernel<T, Gradient>,
               {blocks_for(o.dposition_table.count() / 8), kThreads}, stream, e);
      }
      const dim3 grid(static_cast<unsigned>(o.dx.rows),
                      blocks_for(o.dx.columns / 8, kTokenThreads));
      launch(token_gradient_kernel<T, Gradient>, {grid, kTokenThreads}, stream, e, of_token);
    });
  });
}

void launch(const RandomElements& o, Stream& stream) {
  by_type(o.tensor.dtype, [&](auto element) {
    using T = decltype(element);
    launch(random_elements_kernel<T>, {blocks_for(o.tensor.count()), kThreads}, stream,
           state_at(o.state), o.column, data<T>(o.tensor), o.tensor.count());
  });
}

void launch(const Relu& o, Stream& stream) { launch_activation<ReluFunction>(o.x, o.y, stream); }

void launch(const ReluBackward& o, Stream& stream) {
  launch_activation_backward<ReluFunction>(o.y, o.dy, o.dx, stream);
}

void launch(const Gelu& o, Stream& stream) { launch_activation<GeluFunction>(o.x, o.y, stream); }

void launch(const GeluBackward& o, Stream& stream) {
  launch_activation_backward<GeluFunction>(o.x, o.dy, o.dx, stream);
}

void launch(const SwiGlu& o, Stream& stream) {
  if (o.y.count() == 0) return;  // experts without tokens
  by_type(o.gate_up.dtype, [&](auto element) {
    using T = decltype(element);
    const auto run = [&](auto* y) {
      launch(swiglu_kernel<T, std::remove_pointer_t<decltype(y)>>, {row_packs(o.y), kThreads},
             stream, data<T>(o.gate_up), y, o.y.columns, o.factor, end_of(o.rows));
    };
    o.makes_fp8() ? run(data<std::uint8_t>(o.y)) : run(data<T>(o.y));
  });
}

void launch(const SwiGluBackward& o, Stream& stream) {
  by_type(o.dy.dtype, [&](auto element) {
    using T = decltype(element);
    launch(swiglu_backward_kernel<T>, {row_packs(o.dy), kThreads}, stream, data<T>(o.gate_up),
           data<T>(o.dy), data<T>(o.dgate_up), o.dy.columns, end_of(o.rows));
  });
}

}  // namespace duet::DUET_GPU
