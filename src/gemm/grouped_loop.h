#pragma once

#include <memory>

#include "gemm/grouped.h"

namespace duet {

inline constexpr const char* kLoopPrefix = "loop-";  // of its engines' names

// The engine that calls `products` for one group after the other, on the caller's stream. It makes
// a plan for each number of rows that occurs, and divides the time to tune among them.
// `products` must outlive it.
std::unique_ptr<GroupedGemmEngine> make_grouped_loop(GemmEngine& products);

bool is_loop(const GroupedGemmEngine& engine);
bool tunes(const GroupedGemmEngine& engine);  // over an engine that measures to choose

}  // namespace duet
