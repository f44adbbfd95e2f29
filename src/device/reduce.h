// Reducing memory that the CPU reaches, by the calling thread: for devices whose memory that is,
// and for what others are held against.
#pragma once

#include <cstddef>
#include <vector>

#include "core/dtype.h"
#include "core/reduction.h"

namespace duet {

// The types that devices reduce: fp32, fp16, bf16, int32.
bool is_reducible(DType dtype);

// Element by element of all inputs, accumulated in float (int32: exactly) and rounded once.
// `output` may be one of the inputs. Nothing needs to be aligned; the type must be reducible.
void reduce(DType dtype, Reduction op, const std::vector<const std::byte*>& inputs,
            std::byte* output, std::size_t elements);

}  // namespace duet
