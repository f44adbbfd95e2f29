// Whether a limit of this process (ulimit -v) leaves room for a library that does not ask first.
#pragma once

#include <cstdint>
#include <string>

namespace duet {

// OpenBLAS maps so much for itself and for each thread as soon as it is opened, and where it is
// refused it tries again for ever.
constexpr std::uint64_t kOpenBlasBytes = 320ull << 20;

// "" where `bytes` for each of this process's cores and once more can be mapped, else why not.
std::string no_room_for(std::uint64_t bytes);

}  // namespace duet
