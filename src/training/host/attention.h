#pragma once

#include <cstdint>

namespace duet {

struct AttentionShape {
  std::int64_t batch, tokens, heads, head_dim;

  std::int64_t width() const { return heads * head_dim; }
  std::int64_t elements() const { return batch * tokens * width(); }  // of out; qkv has 3 times
  std::int64_t rows() const { return batch * heads * tokens; }        // of log_sum_exp
};

// Causal attention in blocks with a running maximum (Dao et al.: FlashAttention, 2022), for each
// batch and head:
//   s[i][j] = q[i] . k[j] / sqrt(head_dim) for j <= i
//   out[i] = sum over j of exp(s[i][j] - log_sum_exp[i]) * v[j]
// qkv (batch, tokens, 3, heads, head_dim), out (batch, tokens, heads, head_dim),
// log_sum_exp (batch, heads, tokens) in natural logarithms.
template <class Real>
void attention(const AttentionShape& shape, const Real* qkv, Real* out, Real* log_sum_exp);

// dqkv, shaped as qkv, from dout, shaped as out, and what attention() read and wrote. The
// probabilities are computed again.
template <class Real>
void attention_backward(const AttentionShape& shape, const Real* qkv, const Real* out,
                        const Real* log_sum_exp, const Real* dout, Real* dqkv);

}  // namespace duet
