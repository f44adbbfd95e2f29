#pragma once

#include "training/operations/attention.h"

namespace duet {

// What rotate_heads() reads: qkv (batch, tokens, heads + 2 * key_heads, head_dim), head_dim even,
// and the weights (head_dim) of a norm before the rotation, or null.
template <class Real>
struct RotaryHeads {
  AttentionShape shape;
  double theta;
  const Real* qkv;
  const Real *q_weight, *k_weight;
};

// Each head x of q and k becomes, with n = x * inverse_rms * weight (norm.h), or n = x without
// weights, i < head_dim / 2, j = i + head_dim / 2 and the angle a = t * theta^(-2i / head_dim) of
// token t of its sequence:
//   rotated[i] = n[i] * cos(a) - n[j] * sin(a), rotated[j] = n[j] * cos(a) + n[i] * sin(a)
// (Su et al.: RoFormer, 2021; pairs as in Hugging Face's Qwen3). v is copied. Angles are computed
// in double. `rotated` is shaped as qkv; inverse_rms (batch, tokens, heads + key_heads), null
// without weights.
template <class Real>
void rotate_heads(const RotaryHeads<Real>& in, Real* rotated, Real* inverse_rms);

// dqkv, shaped as qkv, from drotated, which it may be. Adds to dq_weight and dk_weight (head_dim),
// which may be null.
template <class Real>
void rotate_heads_backward(const RotaryHeads<Real>& in, const Real* inverse_rms,
                           const Real* drotated, Real* dqkv, Real* dq_weight, Real* dk_weight);

}  // namespace duet
