#pragma once

#include <cstdint>
#include <vector>

namespace duet {

// The sizes in bytes of the MI300X study's benchmark: powers of two from 4 KiB, and its largest
// size, 2,101,346,304 bytes (4096 x 128256 x 4, Llama 3's embedding).
std::vector<std::uint64_t> seed_sizes();

}  // namespace duet
