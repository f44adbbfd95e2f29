// Attention of a device: engines make plans, as GEMM engines do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/engine_registry.h"
#include "core/error.h"
#include "device/device.h"
#include "training/operations/tensor.h"

namespace duet {

// Causal attention of `batch` sequences: with q, k, v of one head, i and j tokens of a sequence,
//   s[i][j] = q[i] . k[j] / sqrt(head_dim) for j <= i
//   out[i] = sum over j of exp(s[i][j] - log_sum_exp[i]) * v[j]
// With fewer heads of k and v than of q (grouped-query attention; Ainslie et al.: GQA, 2023), head
// h of q attends to head h / group() of k and v.
struct AttentionShape {
  std::int64_t batch = 0, tokens = 0, heads = 0, head_dim = 0;
  std::int64_t kv_heads = 0;  // of k, and of v, a divisor of `heads`; 0: `heads`

  std::int64_t key_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  std::int64_t group() const { return heads / key_heads(); }  // heads of q to one of k and v
  std::int64_t width() const { return heads * head_dim; }
  std::int64_t key_width() const { return key_heads() * head_dim; }
  std::int64_t qkv_width() const { return width() + 2 * key_width(); }
  std::int64_t elements() const { return batch * tokens * width(); }          // of out
  std::int64_t qkv_elements() const { return batch * tokens * qkv_width(); }  // of qkv
  std::int64_t rows() const { return batch * heads * tokens; }                // of log_sum_exp
};

struct AttentionTensors {
  AttentionShape shape;
  Tensor qkv;          // (batch * tokens, qkv_width): q, k, v, each by heads
  Tensor out;          // (batch * tokens, width)
  Tensor log_sum_exp;  // (batch * heads, tokens), fp32, natural logarithms

  // Whether the shape can be, and the tensors have its sizes.
  bool fit() const {
    return shape.key_heads() > 0 && shape.heads % shape.key_heads() == 0 &&
           shape.elements() == out.count() && shape.qkv_elements() == qkv.count() &&
           shape.rows() == log_sum_exp.count();
  }
};

// How an engine runs one shape. It may own a workspace: calls on different streams must not run at
// the same time.
class AttentionPlan {
 public:
  virtual ~AttentionPlan() = default;
  // Write out and log_sum_exp; dqkv, shaped as qkv, from dout, shaped as out. Tensors of the plan's
  // shape and type in memory of its device, aligned to 256 bytes. Any number of calls, which never
  // block or allocate, and can be captured.
  virtual void forward(Stream& stream, const AttentionTensors& tensors) = 0;
  virtual void backward(Stream& stream, const AttentionTensors& tensors, const Tensor& dout,
                        const Tensor& dqkv) = 0;
  virtual std::uint64_t workspace_bytes() const = 0;
};

class AttentionEngine {
 public:
  virtual ~AttentionEngine() = default;
  virtual std::string name() const = 0;         // "cudnn"
  virtual std::string device_kind() const = 0;  // "cuda"
  // Why this engine cannot run the shape on this device, if so. `dtype`: of qkv and out.
  virtual std::optional<Skipped> unsupported(Device& device, const AttentionShape& shape,
                                             DType dtype) const = 0;
  // `deterministic`: backward gives the same bits at each call. Blocks.
  virtual std::unique_ptr<AttentionPlan> plan(Device& device, const AttentionShape& shape,
                                              DType dtype, bool deterministic) = 0;
};

// Called by modules when they are loaded.
void register_attention_engine(std::unique_ptr<AttentionEngine> engine);

// The engines for a kind of device, and the modules that could not be loaded.
using AttentionEngines = FoundEngines<AttentionEngine>;
AttentionEngines attention_engines(const std::string& device_kind);

}  // namespace duet
