#pragma once

#include "training/operations/attention.h"

namespace duet {

// Attention (AttentionShape) in blocks with a running maximum (Dao et al.: FlashAttention, 2022).
// qkv (batch, tokens, heads + 2 * key_heads, head_dim), out (batch, tokens, heads, head_dim),
// log_sum_exp (batch, heads, tokens) in natural logarithms.
template <class Real>
void attention(const AttentionShape& shape, const Real* qkv, Real* out, Real* log_sum_exp);

// dqkv, shaped as qkv, from dout, shaped as out, and what attention() read and wrote. The
// probabilities are computed again.
template <class Real>
void attention_backward(const AttentionShape& shape, const Real* qkv, const Real* out,
                        const Real* log_sum_exp, const Real* dout, Real* dqkv);

}  // namespace duet
