// Reducing buffers that the CPU reaches.
#pragma once

#include <cstddef>
#include <vector>

#include "core/dtype.h"
#include "core/reduction.h"

namespace duet {

// Element by element of all inputs, accumulated in float (int32: exactly) and rounded once.
// `output` may be one of the inputs. Types: fp32, fp16, bf16, int32.
void reduce(DType dtype, Reduction op, const std::vector<const std::byte*>& inputs,
            std::byte* output, std::size_t elements);

}  // namespace duet
