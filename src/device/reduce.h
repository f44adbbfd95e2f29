// Reductions by the calling thread of memory that the CPU can address: for CPU devices, and as the
// reference for other implementations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "core/reduction.h"

namespace duet {

// Whether devices reduce the type: fp32, fp16, bf16 and int32.
bool is_reducible(DType dtype);

// Reduces all inputs element by element. Accumulates in float and rounds once; sums of int32 wrap
// around. An average divides by `divisor`, or by the number of inputs where that is 0.
// `output` may be one of the inputs. Pointers need no alignment. The type must be reducible.
void reduce(DType dtype, Reduction op, const std::vector<const std::byte*>& inputs,
            std::byte* output, std::size_t elements, std::uint32_t divisor = 0);

}  // namespace duet
