// The kernels behind the operations of a vendor's GPUs. Tensors are fp32 or bf16, their columns
// multiples of eight; all computing is in fp32, and every result is the same at each call. Streams
// are of the current device.
#pragma once

#include "device/gpu/vendor.h"
#include "device/stream.h"
#include "training/operations/operation.h"

namespace duet::DUET_GPU {

void launch_fill_normal(std::uint64_t seed, std::int64_t first, double deviation,
                        const Tensor& tensor, Stream& stream);
void launch_fill_value(double value, const Tensor& tensor, Stream& stream);

void launch_scale(double factor, const Tensor& tensor, Stream& stream);
void launch_keep_blocks(const std::vector<RowRange>& blocks, const Tensor& matrix, Stream& stream);

void launch_advance(const Span& state, Stream& stream);
void launch_random_tokens(const Span& state, std::int64_t vocabulary, std::uint64_t column,
                          const Tensor& tokens, Stream& stream);

void launch_embedding(const Tensor& tokens, const Tensor& token_table, const Tensor& position_table,
                      const Tensor& x, Stream& stream);
// Adds to the token table's gradient. `occurrences`: kOccurrenceWords words of 4 bytes for each row
// of the table, in device memory, aligned to 8 bytes.
inline constexpr std::int64_t kOccurrenceWords = 2;
void launch_embedding_backward(const Tensor& tokens, const Tensor& dx, const Tensor& dtoken_table,
                               const Tensor& dposition_table, Accumulate positions,
                               void* occurrences, Stream& stream);

// The widest head that kernels take.
inline constexpr std::int64_t kWidestHead = 256;
// The widest row that the norms take.
inline constexpr std::int64_t kWidestNorm = 16384;
void launch_layer_norm(const NormTensors& norm, const Tensor& y, Stream& stream);
// `partials`: for each of `blocks`, which may be any number, 2 * columns fp32 in device memory.
void launch_layer_norm_backward(const NormTensors& norm, const Tensor& dy, const Tensor& dx,
                                Accumulate accumulate, Accumulate gradients, float* partials,
                                int blocks, Stream& stream);
void launch_rms_norm(const RmsNormTensors& norm, const Tensor& y, Stream& stream);
// `partials`: for each of `blocks`, columns fp32. A weight's gradient without elements is left out.
void launch_rms_norm_backward(const RmsNormTensors& norm, const Tensor& dy, const Tensor& dx,
                              Accumulate accumulate, Accumulate gradients, float* partials,
                              int blocks, Stream& stream);

// Exact, in the order of the bits of absolute values. At most `blocks`.
void launch_magnitude(const Tensor& x, const Tensor& magnitude, int blocks, Stream& stream);
// Rows and columns are multiples of 16.
void launch_quantise(const Tensor& x, const Tensor& magnitude, const Quantised& to, Stream& stream);

void launch_random_elements(const Span& state, std::uint64_t column, const Tensor& tensor,
                            Stream& stream);
void launch_relu(const Tensor& x, const Tensor& y, Stream& stream);
void launch_relu_backward(const Tensor& y, const Tensor& dy, const Tensor& dx, Stream& stream);
void launch_gelu(const Tensor& x, const Tensor& y, Stream& stream);
void launch_gelu_backward(const Tensor& x, const Tensor& dy, const Tensor& dx, Stream& stream);
// Heads of multiples of 16 up to kWidestHead.
void launch_rotate(const RotaryTensors& tensors, const Tensor& rotated, Stream& stream);
// `partials`: for each of `blocks`, which may be any number, 2 * head_dim fp32 in device memory.
void launch_rotate_backward(const RotaryTensors& tensors, const Tensor& drotated,
                            const Tensor& dqkv, Accumulate gradients, float* partials, int blocks,
                            Stream& stream);
void launch_swiglu(const Tensor& gate_up, const Tensor& y, Stream& stream);
void launch_swiglu_backward(const Tensor& gate_up, const Tensor& dy, const Tensor& dgate_up,
                            Stream& stream);

// Any shape, at a small part of what the device could do: for tests, and where no engine is there.
void launch_attention(const AttentionTensors& tensors, Stream& stream);
void launch_attention_backward(const AttentionTensors& tensors, const Tensor& dout,
                               const Tensor& dqkv, Stream& stream);

// `most_shared`: bytes of shared memory that a block may have.
void launch_cross_entropy_piece(const Tensor& logits, std::int64_t vocabulary,
                                const Tensor& targets, std::int64_t batch_rows,
                                const Tensor& row_losses, std::uint64_t most_shared,
                                Stream& stream);
void launch_mean(const Tensor& values, const Tensor& mean, Stream& stream);

void launch_mean_squared_error(const Tensor& prediction, const Tensor& target,
                               const Tensor& row_losses, const Tensor& loss, Stream& stream);

// `partials`: for each gradient and each of `blocks`, one fp32 in device memory.
void launch_sum_of_squares(const std::vector<Tensor>& gradients, const Tensor& sum, float* partials,
                           int blocks, Stream& stream);
void launch_clip(const Span& state, const Tensor& squares, double scale, double limit,
                 const Tensor& norm, Stream& stream);
void launch_adamw(const AdamWOptions& options, const Span& state, const OptimizerTensors& tensors,
                  Stream& stream);
void launch_sgd(const Span& state, const OptimizerTensors& tensors, Stream& stream);

}  // namespace duet::DUET_GPU
