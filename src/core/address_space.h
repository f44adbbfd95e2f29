// Whether the limit on this process's address space (ulimit -v) leaves room for a library that maps
// memory when it is loaded.
#pragma once

#include <cstdint>
#include <string>

namespace duet {

// OpenBLAS maps this much for itself and for each thread when it is loaded, and retries forever if
// the mapping fails.
constexpr std::uint64_t kOpenBlasBytes = 320ull << 20;

// Returns "" if (cores + 1) x `bytes` can be mapped, for the cores that this thread may run on;
// otherwise why not.
std::string no_room_for(std::uint64_t bytes);

}  // namespace duet
