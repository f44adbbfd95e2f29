#include "results/writers/doubt_mark.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "results/host_load.h"

namespace duet {

std::string doubt_mark(const Record& record) { return busy_with(record) ? "?" : ""; }

std::string doubt_line(const std::vector<Record>& records) {
  LoadShare most;
  for (const Record& record : records) {
    const auto load = record.outcome == Outcome::measured ? busy_with(record) : std::nullopt;
    if (!load) continue;
    most = {std::max(most.others, load->others), std::max(most.steal, load->steal)};
  }
  return is_high(most) ? fmt::format("  ? in doubt: {}\n", load_text(most)) : "";
}

}  // namespace duet
