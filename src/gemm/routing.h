// How many rows each group of a grouped GEMM has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace duet {

struct Routing {
  enum class Kind {
    equal,    // the same number for each
    uniform,  // each row draws its group, all with the same probability
    zipf,     // group g (from 0) with a probability in proportion to (g + 1)^-exponent
  };
  Kind kind = Kind::equal;
  double exponent = 0;  // of zipf
};

Routing parse_routing(std::string_view text);  // "equal", "uniform", "zipf:1.2"; throws UsageError
std::string name(const Routing& routing);

// The rows of each of `groups` groups, groups x mean in all. They follow from the arguments alone:
// draws are counter-based (core/random.h).
std::vector<std::int64_t> rows_of_groups(const Routing& routing, int groups, std::int64_t mean);

}  // namespace duet
