// The kernels behind the operations of a vendor's GPUs. Tensors are fp32 or bf16, their columns
// multiples of eight; all computing is in fp32, and every result is the same at each call. Streams
// are of the current device.
#pragma once

#include "device/gpu/vendor.h"
#include "device/stream.h"
#include "training/operations/operation.h"

namespace duet::DUET_GPU {

void launch(const FillNormal& o, Stream& stream);
void launch(const FillValue& o, Stream& stream);
void launch(const Scale& o, Stream& stream);
void launch(const Add& o, Stream& stream);
void launch(const KeepBlocks& o, Stream& stream);
void launch(const Advance& o, Stream& stream);
void launch(const RandomTokens& o, Stream& stream);
void launch(const RandomElements& o, Stream& stream);

void launch(const Embedding& o, Stream& stream);
// `occurrences`: kOccurrenceWords words of 4 bytes for each row of the token table, in device
// memory, aligned to 8 bytes.
inline constexpr std::int64_t kOccurrenceWords = 2;
void launch(const EmbeddingBackward& o, void* occurrences, Stream& stream);

void launch(const ChooseExperts& o, Stream& stream);
void launch(const GroupRows& o, Stream& stream);
// Rows are multiples of 4 bytes.
void launch(const GatherRows& o, Stream& stream);
void launch(const CombineRows& o, Stream& stream);
void launch(const LimitChoices& o, Stream& stream);
void launch(const CombineRowsBackward& o, Stream& stream);
void launch(const ChooseExpertsBackward& o, Stream& stream);
// Tensors of bf16 by tensor cores where the device has them; gradients of weights also in fp32.
void launch(const GroupedLinear& o, Stream& stream);
void launch(const GroupedLinearBackwardInput& o, Stream& stream);
void launch(const GroupedLinearBackwardWeight& o, Stream& stream);

// The widest row that the norms take.
inline constexpr std::int64_t kWidestNorm = 16384;
void launch(const Norm& o, Stream& stream);
// `partials`: for each of `blocks`, which may be any number, columns fp32 in device memory, of a
// LayerNorm 2 * columns.
void launch(const NormBackward& o, float* partials, int blocks, Stream& stream);

// Exact, in the order of the bits of absolute values. At most `blocks`.
void launch(const Magnitude& o, int blocks, Stream& stream);
// Rows and columns are multiples of 16.
void launch(const Quantise& o, Stream& stream);
void launch(const QuantiseRows& o, Stream& stream);
void launch(const GatherFp8Rows& o, Stream& stream);

void launch(const Relu& o, Stream& stream);
void launch(const ReluBackward& o, Stream& stream);
void launch(const Gelu& o, Stream& stream);
void launch(const GeluBackward& o, Stream& stream);
void launch(const SwiGlu& o, Stream& stream);
void launch(const SwiGluBackward& o, Stream& stream);

// The widest head that kernels take, of a multiple of 16.
inline constexpr std::int64_t kWidestHead = 256;
void launch(const Rotate& o, Stream& stream);
// `partials`: for each of `blocks`, which may be any number, 2 * head_dim fp32 in device memory.
void launch(const RotateBackward& o, float* partials, int blocks, Stream& stream);

// Any shape, at a small part of what the device could do: for tests, and where no engine is there.
void launch_attention(const AttentionTensors& tensors, Stream& stream);
void launch_attention_backward(const AttentionTensors& tensors, const Tensor& dout,
                               const Tensor& dqkv, Stream& stream);

// `most_shared`: bytes of shared memory that a block may have.
void launch(const CrossEntropyPiece& o, std::uint64_t most_shared, Stream& stream);
void launch(const CrossEntropySums& o, Stream& stream);
void launch(const CrossEntropyOfPart& o, Stream& stream);
void launch(const Mean& o, Stream& stream);
void launch(const MeanSquaredError& o, Stream& stream);

// `partials`: for each gradient and each of `blocks`, one fp32 in device memory.
void launch(const SumOfSquares& o, float* partials, int blocks, Stream& stream);
void launch(const Clip& o, Stream& stream);
void launch(const AdamW& o, Stream& stream);
void launch(const Sgd& o, Stream& stream);

}  // namespace duet::DUET_GPU
