#pragma once

#include <cstdint>

namespace duet {

// How a row's values are stored: through the caches, or past them, for fields that do not fit.
enum class Stores { cached, past_caches };

// One row of nx new values, the fixed columns included. `to` overlaps no other row.
void sweep_row(const float* above, const float* own, const float* below, float* to, std::int64_t nx,
               Stores stores);

// Copies a row by stores past the caches.
void copy_row_past_caches(const float* from, float* to, std::int64_t nx);

// The sum of (new - old)^2 over a row in fp64, in an order that depends on nx alone.
double change_of_row(const float* before, const float* after, std::int64_t nx);

}  // namespace duet
