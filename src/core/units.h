// Sizes, times and rates as text. GB is 10^9 bytes everywhere, GiB is 2^30. In sizes that users
// type, K, M and G are binary (as in nccl-tests: 64K is 65536), and so are KiB, MiB, GiB; KB, MB
// and GB are decimal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace duet {

// Parses "4096", "64K", "64KiB", "1MB", "2G". Throws UsageError, also for sizes beyond 64 bits.
std::uint64_t parse_bytes(std::string_view text);

std::string format_bytes(std::uint64_t bytes);  // "64 KiB", "2101346304 B" if not exact
std::string short_bytes(std::uint64_t bytes);   // "64K", as parse_bytes() takes it
std::string format_seconds(double seconds);     // "12.3 us"
std::string format_rate(double value);          // three to four significant digits
std::string trim(std::string_view text);        // without white space at both ends
bool ends_with(std::string_view text, std::string_view end);

// The sizes in bytes of the MI300X study's benchmark: powers of two from 4 KiB, and its largest
// size, 2,101,346,304 bytes (4096 x 128256 x 4, Llama 3's embedding).
std::vector<std::uint64_t> seed_sizes();

}  // namespace duet
