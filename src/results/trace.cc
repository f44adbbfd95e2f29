#include "results/trace.h"

#include <fmt/format.h>

#include <cstddef>

namespace duet {

std::vector<TraceSpan> spans_of(const std::string& name, const std::vector<double>& ends,
                                bool numbered) {
  std::vector<TraceSpan> spans;
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
    spans.push_back({numbered ? fmt::format("{} {}", name, i / 2) : name, ends[i], ends[i + 1]});
  }
  return spans;
}

}  // namespace duet
