#pragma once

namespace duet {

// Whether a result is added to what the memory holds, or replaces it.
enum class Accumulate { no, yes };

}  // namespace duet
