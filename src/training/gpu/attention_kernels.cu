// Causal attention by its definition, 32 threads for each row of a query or a key: for tests, and
// for types and shapes that no library takes.
#include "device/gpu/group_sum.h"
#include "device/gpu/launch.h"
#include "training/gpu/element8.h"
#include "training/gpu/kernels.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kRowsOfBlock = 4;
constexpr int kElements = static_cast<int>(kWidestHead) / 32;  // of a row, at one thread

template <typename T>
struct Heads {
  AttentionShape shape;
  std::int64_t key_heads, group;
  const T *qkv, *out, *dout;
  T *out_written, *dqkv;
  float* log_sum_exp;
  float scale;
};

// A thread's part of one head's row: every 32nd element.
struct Row {
  float value[kElements] = {};

  __device__ float dot(const Row& other) const {
    float sum = 0;
#pragma unroll
    for (int e = 0; e < kElements; ++e) sum += value[e] * other.value[e];
    return warp_sum(sum);
  }
  __device__ void add(float factor, const Row& other) {
#pragma unroll
    for (int e = 0; e < kElements; ++e) value[e] += factor * other.value[e];
  }
};

// Where the block's rows lie: a token of a head of a sequence; a head of q, or of k and v.
template <typename T>
struct HeadRows {
  const Heads<T>& all;
  std::int64_t batch = blockIdx.z, head = blockIdx.y;
  int lane = static_cast<int>(threadIdx.x) % 32;

  __device__ std::int64_t token() const {
    return static_cast<std::int64_t>(blockIdx.x) * kRowsOfBlock + threadIdx.x / 32;
  }
  __device__ std::int64_t in_out(std::int64_t t, std::int64_t of_q) const {
    return ((batch * all.shape.tokens + t) * all.shape.heads + of_q) * all.shape.head_dim;
  }
  __device__ std::int64_t in_qkv(std::int64_t t, std::int64_t any_head) const {
    const std::int64_t heads = all.shape.heads + 2 * all.key_heads;
    return ((batch * all.shape.tokens + t) * heads + any_head) * all.shape.head_dim;
  }
  __device__ std::int64_t k_in_qkv(std::int64_t t, std::int64_t of_k) const {
    return in_qkv(t, all.shape.heads + of_k);
  }
  __device__ std::int64_t v_in_qkv(std::int64_t t, std::int64_t of_k) const {
    return in_qkv(t, all.shape.heads + all.key_heads + of_k);
  }
  __device__ std::int64_t in_sums(std::int64_t t, std::int64_t of_q) const {
    return (batch * all.shape.heads + of_q) * all.shape.tokens + t;
  }
  __device__ Row load(const T* from) const {
    Row row;
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      if (lane + 32 * e < all.shape.head_dim) row.value[e] = as_float(from[lane + 32 * e]);
    }
    return row;
  }
  __device__ void store(T* to, const Row& row) const {
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      if (lane + 32 * e < all.shape.head_dim) store_one(to + lane + 32 * e, row.value[e]);
    }
  }
};

template <typename T>
__global__ void attention_kernel(Heads<T> a) {
  const HeadRows<T> at{a};
  const std::int64_t i = at.token();
  if (i >= a.shape.tokens) return;
  const std::int64_t of_k = at.head / a.group;
  const Row q = at.load(a.qkv + at.in_qkv(i, at.head));
  Row sum;
  float largest = -INFINITY, total = 0;
  for (std::int64_t j = 0; j <= i; ++j) {
    const float score = a.scale * q.dot(at.load(a.qkv + at.k_in_qkv(j, of_k)));
    const float most = fmaxf(largest, score);
    const float before = expf(largest - most), now = expf(score - most);
#pragma unroll
    for (int e = 0; e < kElements; ++e) sum.value[e] *= before;
    sum.add(now, at.load(a.qkv + at.v_in_qkv(j, of_k)));
    total = total * before + now;
    largest = most;
  }
#pragma unroll
  for (int e = 0; e < kElements; ++e) sum.value[e] /= total;
  at.store(a.out_written + at.in_out(i, at.head), sum);
  if (at.lane == 0) a.log_sum_exp[at.in_sums(i, at.head)] = largest + logf(total);
}

// With p = exp(s - log_sum_exp) and ds = p * (dout . v - dout . out): dq = scale * sum of ds * k.
template <typename T>
__global__ void query_gradient_kernel(Heads<T> a) {
  const HeadRows<T> at{a};
  const std::int64_t i = at.token();
  if (i >= a.shape.tokens) return;
  const std::int64_t of_k = at.head / a.group;
  const Row q = at.load(a.qkv + at.in_qkv(i, at.head)),
            dout = at.load(a.dout + at.in_out(i, at.head));
  const float out_part = dout.dot(at.load(a.out + at.in_out(i, at.head)));
  const float log_sum = a.log_sum_exp[at.in_sums(i, at.head)];
  Row dq;
  for (std::int64_t j = 0; j <= i; ++j) {
    const Row k = at.load(a.qkv + at.k_in_qkv(j, of_k));
    const float p = expf(a.scale * q.dot(k) - log_sum);
    const float dp = dout.dot(at.load(a.qkv + at.v_in_qkv(j, of_k)));
    dq.add(a.scale * p * (dp - out_part), k);
  }
  at.store(a.dqkv + at.in_qkv(i, at.head), dq);
}

// dk = scale * sum of ds * q, dv = sum of p * dout, over the queries that see the key, of all heads
// of its group.
template <typename T>
__global__ void key_gradient_kernel(Heads<T> a) {
  const HeadRows<T> at{a};
  const std::int64_t j = at.token();
  if (j >= a.shape.tokens) return;
  const Row k = at.load(a.qkv + at.k_in_qkv(j, at.head)),
            v = at.load(a.qkv + at.v_in_qkv(j, at.head));
  Row dk, dv;
  for (std::int64_t of_q = at.head * a.group; of_q < (at.head + 1) * a.group; ++of_q) {
    for (std::int64_t i = j; i < a.shape.tokens; ++i) {
      const Row q = at.load(a.qkv + at.in_qkv(i, of_q)),
                dout = at.load(a.dout + at.in_out(i, of_q));
      const float out_part = dout.dot(at.load(a.out + at.in_out(i, of_q)));
      const float p = expf(a.scale * q.dot(k) - a.log_sum_exp[at.in_sums(i, of_q)]);
      dk.add(a.scale * p * (dout.dot(v) - out_part), q);
      dv.add(p, dout);
    }
  }
  at.store(a.dqkv + at.k_in_qkv(j, at.head), dk);
  at.store(a.dqkv + at.v_in_qkv(j, at.head), dv);
}

// `heads`: of q, or of k and v.
dim3 grid_of(const AttentionShape& shape, std::int64_t heads) {
  return dim3(static_cast<unsigned>((shape.tokens + kRowsOfBlock - 1) / kRowsOfBlock),
              static_cast<unsigned>(heads), static_cast<unsigned>(shape.batch));
}

float scale_of(const AttentionShape& shape) {
  return 1.0f / sqrtf(static_cast<float>(shape.head_dim));
}

}  // namespace

void launch_attention(const AttentionTensors& t, Stream& stream) {
  by_type(t.out.dtype, [&](auto element) {
    using T = decltype(element);
    const Heads<T> heads{t.shape,
                         t.shape.key_heads(),
                         t.shape.group(),
                         data<T>(t.qkv),
                         nullptr,
                         nullptr,
                         data<T>(t.out),
                         nullptr,
                         data<float>(t.log_sum_exp),
                         scale_of(t.shape)};
    launch(attention_kernel<T>, {grid_of(t.shape, t.shape.heads), 32 * kRowsOfBlock}, stream,
           heads);
  });
}

void launch_attention_backward(const AttentionTensors& t, const Tensor& dout, const Tensor& dqkv,
                               Stream& stream) {
  by_type(t.out.dtype, [&](auto element) {
    using T = decltype(element);
    const Heads<T> heads{t.shape,          t.shape.key_heads(), t.shape.group(),
                         data<T>(t.qkv),   data<T>(t.out),      data<T>(dout),
                         nullptr,          data<T>(dqkv),       data<float>(t.log_sum_exp),
                         scale_of(t.shape)};
    launch(query_gradient_kernel<T>, {grid_of(t.shape, t.shape.heads), 32 * kRowsOfBlock}, stream,
           heads);
    launch(key_gradient_kernel<T>, {grid_of(t.shape, t.shape.key_heads()), 32 * kRowsOfBlock},
           stream, heads);
  });
}

}  // namespace duet::DUET_GPU
