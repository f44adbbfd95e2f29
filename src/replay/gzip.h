// Files that gzip has compressed, as PyTorch's profiler writes them on request.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace duet {

bool is_gzip(std::string_view bytes);

inline constexpr std::size_t kMostUnpacked = std::size_t{8} << 30;

// What they unpack to, of all parts if there are several. Throws UsageError where they are damaged
// or cut short, and where what they unpack to grows beyond about `most` bytes.
std::string unpacked_gzip(std::string_view bytes, std::size_t most = kMostUnpacked);

}  // namespace duet
