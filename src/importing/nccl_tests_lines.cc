#include "importing/nccl_tests_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/units.h"
#include "importing/words.h"

namespace duet {
namespace {

std::optional<int> small(std::optional<std::int64_t> number) {
  if (!number || *number > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(*number);
}

// rccl-tests prints one of the two groups alone if it is told to.
void name_groups(NcclTestsHeader& header, std::string_view above) {
  const bool out = holds(above, "out-of-place");
  const bool in = behind(above, out ? "out-of-place" : "").find("in-place") != std::string::npos;
  const bool both = header.groups.size() == 2;
  const bool named = both || (header.groups.size() == 1 && out != in);
  const bool whole =
      std::all_of(header.groups.begin(), header.groups.end(), [&](const FigureColumns& group) {
        return group.time > header.type && group.algbw > 0 && group.busbw > 0 && group.check > 0;
      });
  if (!named || !whole) {
    throw UsageError(
        "expected the columns size, count, type, time, algbw, busbw and #wrong, with two groups of "
        "the last four, or one below \"out-of-place\" or \"in-place\"");
  }
  header.groups.back().in_place = both || in;
}

}  // namespace

std::optional<RankLine> rank_line(std::string_view line) {
  const std::size_t device = line.find(" device ");
  const std::size_t open = line.find('[', std::min(device, line.size()));
  const std::size_t close = line.find(']', std::min(open, line.size()));
  const auto number = count_of(word_behind(line, "Rank "));
  const auto index = count_of(word_behind(line, " device "));
  if (!number || !index || close == std::string_view::npos) return std::nullopt;
  RankLine rank;
  rank.rank = *number;
  rank.group = word_behind(line, " Group ");
  rank.host = word_behind(line, " on ");
  rank.process = word_behind(line, "Pid ");
  rank.device.name = std::to_string(*index);
  rank.device.bus = std::string(line.substr(open + 1, close - open - 1));
  rank.device.model = trim(line.substr(close + 1));
  return rank;
}

NcclTestsOptions options_of(std::string_view line) {
  NcclTestsOptions options;
  const std::string_view warm_ups = holds(line, "warmupIters") ? "warmupIters" : "warmup iters";
  options.warm_ups = small(number_behind(line, warm_ups));
  if (const auto calls = number_behind(behind(line, warm_ups), "iters")) {
    options.iterations = std::to_string(*calls);
  }
  options.graph_launches = small(number_behind(line, "graph")).value_or(0);
  options.least = number_behind(line, "minBytes").value_or(0);
  options.largest = number_behind(line, "maxBytes").value_or(0);
  options.step = number_behind(line, "step").value_or(0);
  options.factor = holds(line, "(factor)");
  options.tells_reduced = holds(line, "graph");
  return options;
}

std::optional<std::int64_t> NcclTestsOptions::sizes() const {
  if (least < 1 || step < (factor ? 2 : 1)) return std::nullopt;
  if (!factor) return largest < least ? 0 : (largest - least) / step + 1;
  std::int64_t count = 0;
  for (std::int64_t size = least; size <= largest; size *= step) {
    ++count;
    if (size > largest / step) break;
  }
  return count;
}

NcclTestsHeader header_of(std::vector<std::string> heads, std::string_view above) {
  heads.erase(heads.begin());  // "#"
  NcclTestsHeader header;
  const auto place = [&](const char* head) -> std::optional<std::size_t> {
    const auto found = std::find(heads.begin(), heads.end(), head);
    if (found == heads.end()) return std::nullopt;
    return static_cast<std::size_t>(found - heads.begin());
  };
  header.size = place("size").value_or(0);
  header.count = place("count").value_or(1);
  header.type = place("type").value_or(2);
  header.op = place("redop");
  header.root = place("root");
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] == "time" || heads[i] == "cputime") {
      header.groups.push_back({});
      header.groups.back().time = i;
      header.cpu_time = heads[i] == "cputime";
    }
    if (header.groups.empty()) continue;
    FigureColumns& group = header.groups.back();
    if (heads[i] == "algbw") group.algbw = i;
    if (heads[i] == "busbw") group.busbw = i;
    if (heads[i] != "#wrong" && heads[i] != "error") continue;
    group.check = i;
    header.largest_error = heads[i] == "error";
    header.columns = i + 1;
  }
  name_groups(header, above);
  return header;
}

}  // namespace duet
