#include "collectives/schedule/picture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "collectives/schedule/step_order.h"
#include "core/units.h"

namespace duet {
namespace {

// "1,2", or "all" for all others.
std::string ranks_text(const RankSchedule& schedule, const std::vector<int>& others) {
  const bool all = static_cast<int>(others.size()) == schedule.ranks - 1 && schedule.ranks > 2;
  return all ? "all" : fmt::format("{}", fmt::join(others, ","));
}

// One line for the semaphores of each group and index.
std::vector<std::string> semaphore_lines(const RankSchedule& schedule,
                                         const std::vector<SemaphoreAt>& list, bool signals) {
  std::map<std::pair<int, int>, std::vector<int>> others;
  std::vector<std::pair<int, int>> order;
  for (const SemaphoreAt& each : list) {
    const std::pair<int, int> key{each.group, each.index};
    if (others.find(key) == others.end()) order.push_back(key);
    const bool named = schedule.semaphores[index_of(each.group)].for_every_rank;
    std::vector<int>& ranks = others[key];
    if (signals) {
      ranks.push_back(each.owner);
    } else if (named) {
      ranks.push_back(each.peer);
    }
  }
  std::vector<std::string> lines;
  for (const auto& key : order) {
    const SemaphoreGroup& group = schedule.semaphores[index_of(key.first)];
    const std::string index = group.count > 1 ? fmt::format("[{}]", key.second) : "";
    std::string line = fmt::format("{} {}{}", signals ? "signal" : "wait", group.name, index);
    if (!others[key].empty()) {
      line += fmt::format(" {} {}", signals ? "->" : "<-", ranks_text(schedule, others[key]));
    }
    if (group.only_for_speed) line += " (speed)";
    lines.push_back(std::move(line));
  }
  return lines;
}

// "64K", as sizes are typed.
std::string offset_text(std::uint64_t bytes) {
  constexpr std::uint64_t kKilo = 1 << 10, kMega = 1 << 20;
  if (bytes > 0 && bytes % kMega == 0) return fmt::format("{}M", bytes / kMega);
  if (bytes > 0 && bytes % kKilo == 0) return fmt::format("{}K", bytes / kKilo);
  return std::to_string(bytes);
}

std::string place_text(int rank, const Place& place) {
  const std::string at = place.rank == rank ? "" : fmt::format("@{}", place.rank);
  return fmt::format("{}{}+{}", name(place.buffer), at, offset_text(place.offset));
}

std::string move_text(int rank, const std::vector<Place>& from, const std::vector<Place>& to) {
  std::vector<std::string> sources, targets;
  for (const Place& each : from) sources.push_back(place_text(rank, each));
  for (const Place& each : to) targets.push_back(place_text(rank, each));
  return fmt::format("{} {} -> {}, {}", from.size() > 1 ? "add" : "copy", fmt::join(sources, " + "),
                     fmt::join(targets, " and "), format_bytes(to.front().bytes));
}

// Messages are the network's.
std::string lane_text(const Step& step) {
  return step.by_wire && step.lane > 0 ? "net" : std::to_string(step.lane);
}

class Picture {
 public:
  explicit Picture(const CollectiveSchedule& schedule)
      : all_(schedule), calls_{{&schedule}, false}, order_(calls_, true) {
    is_sound_ = order_.fault().empty();
    std::vector<int> rows(order_.steps().size());
    std::iota(rows.begin(), rows.end(), 0);
    if (is_sound_) rows = order_.rows();
    for (std::size_t number = 0; number < rows.size(); ++number) {
      add(static_cast<int>(number), rows[number]);
    }
  }

  std::string text(const std::vector<int>& ranks, std::size_t widest) const {
    std::size_t width = kBetween * (ranks.size() - 1);
    for (const int rank : ranks) width += width_of(rank);
    if (is_sound_ && ranks.size() > 1 && width <= widest) return columns(ranks);
    std::string text;
    for (const int rank : ranks) text += (text.empty() ? "" : "\n") + list(rank);
    return text;
  }

 private:
  struct Line {
    int step = 0;
    std::string text;
  };
  using Row = std::map<int, std::vector<Line>>;  // by rank

  static constexpr std::size_t kBetween = 3;  // columns

  std::size_t width_of(int rank) const {
    std::size_t width = fmt::format("rank {}", rank).size();
    for (const auto& row : rows_) {
      const auto column = row.second.find(rank);
      if (column == row.second.end()) continue;
      for (const Line& line : column->second) width = std::max(width, line.text.size());
    }
    return width;
  }

  std::string list(int rank) const {
    std::string text = fmt::format("rank {}\n", rank);
    for (const auto& row : rows_) {
      const auto column = row.second.find(rank);
      if (column == row.second.end()) continue;
      for (const Line& line : column->second) {
        text += fmt::format("{:>4}  {}\n", line.step, line.text);
      }
    }
    return text;
  }

  std::string columns(const std::vector<int>& ranks) const {
    std::vector<std::size_t> widths;
    std::vector<std::string> cells;
    for (const int rank : ranks) {
      widths.push_back(width_of(rank));
      cells.push_back(fmt::format("rank {}", rank));
    }
    std::string text;
    write_row(text, widths, cells);
    for (const auto& row : rows_) {
      std::size_t lines = 0;
      for (const auto& column : row.second) lines = std::max(lines, column.second.size());
      for (std::size_t line = 0; line < lines; ++line) {
        for (std::size_t i = 0; i < ranks.size(); ++i) {
          const auto column = row.second.find(ranks[i]);
          const bool has = column != row.second.end() && line < column->second.size();
          cells[i] = has ? column->second[line].text : "";
        }
        write_row(text, widths, cells);
      }
    }
    return text;
  }

  static void write_row(std::string& text, const std::vector<std::size_t>& widths,
                        const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line += fmt::format("{:<{}}", cells[i], widths[i] + kBetween);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }

  void add(int number, int row) {
    const OrderedStep& now = order_.steps()[index_of(number)];
    const Step* const step = order_.step_of(number);
    if (step == nullptr) return;
    std::vector<Line>& lines = rows_[row][now.rank];
    for (const std::string& line : lines_of(now, *step)) {
      lines.push_back({now.step, fmt::format("{} {}", lane_text(*step), line)});
    }
  }

  std::vector<std::string> lines_of(const OrderedStep& now, const Step& step) const {
    const RankSchedule& schedule = all_.ranks[index_of(now.rank)];
    std::vector<std::string> lines;
    const auto take = [&lines](std::vector<std::string> more) {
      lines.insert(lines.end(), more.begin(), more.end());
    };
    if (now.item >= 0) {
      const StepItem& item = step.kernel.items[index_of(now.item)];
      take(semaphore_lines(schedule, item.waits, false));
      if (!item.targets.empty()) lines.push_back(move_text(now.rank, item.sources, item.targets));
      take(semaphore_lines(schedule, item.signals, true));
    } else if (now.has_place_in_queue()) {
      add_edges(schedule, now.step, lines);
      take(semaphore_lines(schedule, step.waits, false));
      for (const StepCopy& copy : step.copies)
        lines.push_back(move_text(now.rank, {copy.from}, {copy.to}));
      if (now.item == OrderedStep::kStart)
        lines.push_back(fmt::format("kernel of {} blocks", step.kernel.blocks));
    }
    for (std::string& line : barrier_lines(schedule, step, now.item)) lines.push_back(line);
    if (now.item == OrderedStep::kWhole || now.item == OrderedStep::kEnd)
      take(semaphore_lines(schedule, step.signals, true));
    return lines;
  }

  static std::vector<std::string> barrier_lines(const RankSchedule& schedule, const Step& step,
                                                int part) {
    const bool opens = part == OrderedStep::kSignal || part == OrderedStep::kWait;
    const bool closes = part == OrderedStep::kLastSignal || part == OrderedStep::kLastWait;
    if (!opens && !closes) return {};
    const KernelBarriers& barriers = *step.kernel.barriers;
    const bool signals = part == OrderedStep::kSignal || part == OrderedStep::kLastSignal;
    auto lines = semaphore_lines(
        schedule, signals ? barrier_signals(schedule, barriers) : barrier_waits(schedule, barriers),
        signals);
    for (std::string& line : lines) {
      if (closes && barriers.closes_for_speed) line += " (speed)";
    }
    return lines;
  }

  static void add_edges(const RankSchedule& schedule, int number, std::vector<std::string>& lines) {
    const Step& step = schedule.steps[index_of(number)];
    std::map<int, int> last;  // step, by lane
    for (int earlier = 0; earlier < number; ++earlier) {
      last[schedule.steps[index_of(earlier)].lane] = earlier;
    }
    for (const auto* list : {&step.after, &step.after_for_speed}) {
      std::set<std::string> whole, part;
      for (const int earlier : *list) {
        const Step& before = schedule.steps[index_of(earlier)];
        if (before.lane == step.lane) continue;
        (last[before.lane] == earlier ? whole : part).insert(lane_text(before));
      }
      const char* const speed = list == &step.after_for_speed ? " (speed)" : "";
      if (!whole.empty()) {
        lines.push_back(fmt::format("behind lane {}{}", fmt::join(whole, ","), speed));
      }
      if (!part.empty()) {
        lines.push_back(fmt::format("behind part of lane {}{}", fmt::join(part, ","), speed));
      }
    }
  }

  const CollectiveSchedule& all_;
  const CheckedCalls calls_;
  StepOrder order_;
  bool is_sound_ = false;
  std::map<int, Row> rows_;
};

}  // namespace

std::string picture_of(const CollectiveSchedule& schedule, const std::vector<int>& ranks,
                       std::size_t widest) {
  return Picture(schedule).text(ranks, widest);
}

}  // namespace duet
