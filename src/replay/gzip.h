// Files that gzip has compressed, as PyTorch's profiler writes them on request.
#pragma once

#include <string>
#include <string_view>

namespace duet {

bool is_gzip(std::string_view bytes);

// What they unpack to. Throws UsageError where they are damaged or cut short, and for more than
// 8 GiB.
std::string unpacked_gzip(std::string_view bytes);

}  // namespace duet
