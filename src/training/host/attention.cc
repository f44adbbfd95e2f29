// Blocks of scores are held transposed, (keys, kQueries): maxima and sums over keys are then
// operations between vectors of queries.
#include "training/host/attention.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>

#include "training/host/product.h"

namespace duet {
namespace {

constexpr std::int64_t kQueries = 64, kKeys = 64;  // of a block

// q, k, v or out of one batch and head: row t begins at data + t * step.
template <class Real>
struct HeadRows {
  Real* data;
  std::int64_t step;

  Real* row(std::int64_t t) const { return data + t * step; }
};

template <class Real>
struct QkvRows {
  HeadRows<Real> q, k, v;
};

// Of head `head` of q of all sequences, and of the head of k and v that it attends to.
template <class Real>
QkvRows<Real> qkv_of_head(const AttentionShape& s, Real* qkv, std::int64_t head) {
  const std::int64_t step = s.qkv_width(), of_q = head % s.heads, of_k = of_q / s.group();
  Real* const first = qkv + head / s.heads * s.tokens * step;
  Real* const k = first + s.width() + of_k * s.head_dim;
  return {{first + of_q * s.head_dim, step}, {k, step}, {k + s.key_width(), step}};
}

template <class Real>
HeadRows<Real> output_of_head(const AttentionShape& s, Real* out, std::int64_t head) {
  const std::int64_t batch = head / s.heads;
  return {out + batch * s.tokens * s.width() + (head % s.heads) * s.head_dim, s.width()};
}

// A range of queries or keys.
struct Block {
  std::int64_t begin, count;
};

Block block_at(std::int64_t begin, std::int64_t size, std::int64_t tokens) {
  return {begin, std::min(size, tokens - begin)};
}

// Memory of one thread.
template <class Real>
class AttentionScratch {
 public:
  explicit AttentionScratch(const AttentionShape& s)
      : head_size_(kQueries * s.head_dim),
        size_(3 * head_size_ + 2 * kKeys * kQueries + 3 * kQueries),
        memory_(new Real[static_cast<std::size_t>(size_ * omp_get_max_threads())]) {}

  Real* queries() const { return begin(); }                 // (head_dim, kQueries)
  Real* doutput() const { return queries() + head_size_; }  // (head_dim, kQueries)
  Real* sums() const { return doutput() + head_size_; }     // (kQueries, head_dim)
  Real* scores() const { return sums() + head_size_; }      // (kKeys, kQueries)
  Real* dscores() const { return scores() + kKeys * kQueries; }
  Real* maximum() const { return dscores() + kKeys * kQueries; }  // (kQueries)
  Real* total() const { return maximum() + kQueries; }            // (kQueries)
  Real* change() const { return total() + kQueries; }             // (kQueries)

 private:
  Real* begin() const { return memory_.get() + size_ * omp_get_thread_num(); }

  std::int64_t head_size_, size_;
  std::unique_ptr<Real[]> memory_;
};

// to (keys.count, kQueries) = rows of `left` for the keys * right (head_dim, kQueries).
template <class Real>
void multiply_keys(const HeadRows<const Real>& left, const Block& keys, std::int64_t head_dim,
                   const Real* right, Real* to) {
  std::fill(to, to + keys.count * kQueries, Real(0));
  add_product<Real>({left.row(keys.begin), left.step, 1}, right, kQueries, to, kQueries, keys.count,
                    kQueries, head_dim);
}

// Sets the scores of each key with the queries before it, which do not attend to it, to `value`.
template <class Real>
void mask(const Block& queries, const Block& keys, Real value, Real* scores) {
  for (std::int64_t key = 0; key < keys.count; ++key) {
    const std::int64_t hidden = std::min(keys.begin + key - queries.begin, kQueries);
    if (hidden > 0) std::fill_n(scores + key * kQueries, hidden, value);
  }
}

// Replaces the scores of a block by exp(score - maximum), and updates the running maximum and
// total. Sets `change` to exp(old maximum - new maximum), by which sums so far are multiplied.
template <class Real>
void softmax_step(std::int64_t keys, Real* scores, Real* maximum, Real* total, Real* change) {
  on_widest_vectors([&]() DUET_INLINE_BODY {
    for (std::int64_t q = 0; q < kQueries; q += kLanes<Real>) {
      Vector<Real> before, sum, score;
      load(before, maximum + q);
      load(sum, total + q);
      Vector<Real> now = before;
      for (std::int64_t key = 0; key < keys; ++key) {
        load(score, scores + key * kQueries + q);
        now = score > now ? score : now;
      }
      Vector<Real> factor = before - now;
      exponentiate(factor);
      sum *= factor;
      for (std::int64_t key = 0; key < keys; ++key) {
        load(score, scores + key * kQueries + q);
        score -= now;
        exponentiate(score);
        sum += score;
        store(scores + key * kQueries + q, score);
      }
      store(maximum + q, now);
      store(total + q, sum);
      store(change + q, factor);
    }
  });
}

template <class Real>
void scale_rows(Real* sums, const Real* factors, std::int64_t rows, std::int64_t columns) {
  on_widest_vectors([&]() DUET_INLINE_BODY {
    for (std::int64_t i = 0; i < rows; ++i) {
#pragma omp simd
      for (std::int64_t d = 0; d < columns; ++d) sums[i * columns + d] *= factors[i];
    }
  });
}

// One block of queries of one head.
template <class Real>
void attend(const AttentionShape& s, std::int64_t head, const Block& queries, const Real* qkv,
            Real* out, Real* log_sum_exp, const AttentionScratch<Real>& scratch) {
  const auto [q, k, v] = qkv_of_head(s, qkv, head);
  const auto o = output_of_head(s, out, head);
  Real *const sums = scratch.sums(), *const scores = scratch.scores();
  transpose(q.row(queries.begin), q.step, queries.count, s.head_dim,
            1 / std::sqrt(static_cast<Real>(s.head_dim)), scratch.queries(), kQueries);
  std::fill_n(sums, queries.count * s.head_dim, Real(0));
  std::fill_n(scratch.maximum(), kQueries, -std::numeric_limits<Real>::infinity());
  std::fill_n(scratch.total(), kQueries, Real(0));
  for (std::int64_t j = 0; j < queries.begin + queries.count; j += kKeys) {
    const Block keys = block_at(j, kKeys, queries.begin + queries.count);
    multiply_keys<Real>(k, keys, s.head_dim, scratch.queries(), scores);
    mask(queries, keys, -std::numeric_limits<Real>::infinity(), scores);
    softmax_step(keys.count, scores, scratch.maximum(), scratch.total(), scratch.change());
    scale_rows(sums, scratch.change(), queries.count, s.head_dim);
    add_product<Real>({scores, 1, kQueries}, v.row(j), v.step, sums, s.head_dim, queries.count,
                      s.head_dim, keys.count);
  }
  for (std::int64_t i = 0; i < queries.count; ++i) {
    const Real total = scratch.total()[i];
    for (std::int64_t d = 0; d < s.head_dim; ++d) {
      o.row(queries.begin + i)[d] = sums[i * s.head_dim + d] / total;
    }
    log_sum_exp[head * s.tokens + queries.begin + i] = scratch.maximum()[i] + std::log(total);
  }
}

// scores (keys, kQueries) become the probabilities p = exp(score - log_sum_exp), dscores from
// dp = dout . v become scale * p * (dp - delta).
template <class Real>
void softmax_backward(const Block& queries, const Block& keys, const Real* log_sum_exp,
                      const Real* delta, Real scale, Real* scores, Real* dscores) {
  on_widest_vectors([&]() DUET_INLINE_BODY {
    for (std::int64_t i = 0; i < keys.count * kQueries; i += kLanes<Real>) {
      Vector<Real> p, subtracted;
      load(p, scores + i);
      load(subtracted, log_sum_exp + i % kQueries);
      p -= subtracted;
      exponentiate(p);
      store(scores + i, p);
    }
  });
  mask(queries, keys, Real(0), scores);
  on_widest_vectors([&]() DUET_INLINE_BODY {
    for (std::int64_t i = 0; i < keys.count * kQueries; i += kLanes<Real>) {
      Vector<Real> p, dp, mean;
      load(p, scores + i);
      load(dp, dscores + i);
      load(mean, delta + i % kQueries);
      store(dscores + i, Vector<Real>(scale * p * (dp - mean)));
    }
  });
}

// delta[i] = out[i] . dout[i], which is the sum over j of p[i][j] * dp[i][j].
template <class Real>
void output_dot_gradient(const Block& queries, std::int64_t head_dim, const HeadRows<const Real>& o,
                         const HeadRows<const Real>& d_o, Real* delta) {
  std::fill_n(delta, kQueries, Real(0));
  for (std::int64_t i = 0; i < queries.count; ++i) {
    for (std::int64_t d = 0; d < head_dim; ++d) {
      delta[i] += o.row(queries.begin + i)[d] * d_o.row(queries.begin + i)[d];
    }
  }
}

template <class Real>
void clear(const AttentionShape& s, const QkvRows<Real>& head) {
  for (const HeadRows<Real>& rows : {head.q, head.k, head.v}) {
    for (std::int64_t t = 0; t < s.tokens; ++t) std::fill_n(rows.row(t), s.head_dim, Real(0));
  }
}

// Adds the contribution of one block of queries of one head to dqkv.
template <class Real>
void attend_backward(const AttentionShape& s, std::int64_t head, const Block& queries,
                     const Real* qkv, const Real* out, const Real* log_sum_exp, const Real* dout,
                     Real* dqkv, const AttentionScratch<Real>& scratch) {
  const auto [q, k, v] = qkv_of_head(s, qkv, head);
  const auto [dq, dk, dv] = qkv_of_head(s, dqkv, head);
  const auto o = output_of_head(s, out, head), d_o = output_of_head(s, dout, head);
  const std::int64_t i = queries.begin, dim = s.head_dim;
  const Real scale = 1 / std::sqrt(static_cast<Real>(dim));
  Real *const p = scratch.scores(), *const ds = scratch.dscores();
  Real *const lse = scratch.maximum(), *const delta = scratch.total();
  transpose(q.row(i), q.step, queries.count, dim, scale, scratch.queries(), kQueries);
  transpose(d_o.row(i), d_o.step, queries.count, dim, Real(1), scratch.doutput(), kQueries);
  std::fill_n(lse, kQueries, Real(0));
  std::copy_n(log_sum_exp + head * s.tokens + i, queries.count, lse);
  output_dot_gradient<Real>(queries, dim, o, d_o, delta);
  for (std::int64_t j = 0; j < i + queries.count; j += kKeys) {
    const Block keys = block_at(j, kKeys, i + queries.count);
    multiply_keys<Real>(k, keys, dim, scratch.queries(), p);
    multiply_keys<Real>(v, keys, dim, scratch.doutput(), ds);
    softmax_backward<Real>(queries, keys, lse, delta, scale, p, ds);
    add_product<Real>({p, kQueries, 1}, d_o.row(i), d_o.step, dv.row(j), dv.step, keys.count, dim,
                      queries.count);
    add_product<Real>({ds, kQueries, 1}, q.row(i), q.step, dk.row(j), dk.step, keys.count, dim,
                      queries.count);
    add_product<Real>({ds, 1, kQueries}, k.row(j), k.step, dq.row(i), dq.step, queries.count, dim,
                      keys.count);
  }
}

}  // namespace

template <class Real>
void attention(const AttentionShape& shape, const Real* qkv, Real* out, Real* log_sum_exp) {
  const AttentionScratch<Real> scratch(shape);
#pragma omp parallel for schedule(static)
  for (std::int64_t head = 0; head < shape.batch * shape.heads; ++head) {
    for (std::int64_t i = 0; i < shape.tokens; i += kQueries) {
      attend(shape, head, block_at(i, kQueries, shape.tokens), qkv, out, log_sum_exp, scratch);
    }
  }
}

template <class Real>
void attention_backward(const AttentionShape& shape, const Real* qkv, const Real* out,
                        const Real* log_sum_exp, const Real* dout, Real* dqkv) {
  const AttentionScratch<Real> scratch(shape);
  const std::int64_t group = shape.group();
  // The heads of a group add to the same dk and dv.
#pragma omp parallel for schedule(static)
  for (std::int64_t first = 0; first < shape.batch * shape.heads; first += group) {
    for (std::int64_t head = first; head < first + group; ++head) {
      clear(shape, qkv_of_head(shape, dqkv, head));
    }
    for (std::int64_t head = first; head < first + group; ++head) {
      for (std::int64_t i = 0; i < shape.tokens; i += kQueries) {
        attend_backward(shape, head, block_at(i, kQueries, shape.tokens), qkv, out, log_sum_exp,
                        dout, dqkv, scratch);
      }
    }
  }
}

#define DUET_INSTANTIATE(Real)                                                            \
  template void attention<Real>(const AttentionShape&, const Real*, Real*, Real*);        \
  template void attention_backward<Real>(const AttentionShape&, const Real*, const Real*, \
                                         const Real*, const Real*, Real*);
DUET_INSTANTIATE(float)
DUET_INSTANTIATE(double)
#undef DUET_INSTANTIATE

}  // namespace duet
