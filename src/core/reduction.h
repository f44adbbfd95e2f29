#pragma once

#include <string_view>
#include <vector>

namespace duet {

// How a collective combines the elements of several ranks into one. Sums of fp16 and bf16 are
// accumulated in fp32 and rounded once. Sums of int32 wrap around, as NCCL's. avg is the sum
// divided by the number of ranks; for integers, rounded towards zero.
enum class Reduction { sum, max, min, avg };

std::string_view name(Reduction op);
Reduction parse_reduction(std::string_view text);  // throws UsageError that lists the known names
std::vector<Reduction> all_reductions();

}  // namespace duet
