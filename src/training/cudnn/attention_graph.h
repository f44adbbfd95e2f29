// Causal attention as graphs of cuDNN operations, of the form that its fused kernels recognise.
#pragma once

#include "training/cudnn/graph.h"
#include "training/operations/attention.h"

namespace duet::cudnn {

// Ids of the tensors to which a call gives addresses.
enum AttentionId : std::int64_t {
  kQ = 1,  // q, dq: (batch, heads, tokens, head_dim), parts of a packed tensor
  kK,      // k, v, dk, dv: the same of key_heads
  kV,
  kOut,    // dimensions of q, (batch, tokens, heads, head_dim) in memory; so is dout
  kStats,  // log_sum_exp: (batch, heads, tokens, 1), fp32
  kDout,
  kDq,
  kDk,
  kDv,
  kSoftmaxSum,     // as log_sum_exp: sums of dout * out over head_dim, scratch of backward
  kDqSum,          // packed fp32: dq before it is rounded, scratch of backward unless deterministic
  kScale,          // 1 / sqrt(head_dim)
  kMinusInfinity,  // the score of a key that a query must not see
  kOne,            // of backward
};

// `type`: of the tensors above that are not said to be fp32, and of what they are multiplied with.
OperationGraph forward_graph(const AttentionShape& shape, cudnnDataType_t type);

// Deterministic: dq is written by one product and not summed by atomics, which costs a workspace of
// 2 * batch * heads * tokens^2 bytes or somewhat more.
OperationGraph backward_graph(const AttentionShape& shape, cudnnDataType_t type,
                              bool deterministic);

}  // namespace duet::cudnn
