// nccl-tests prints, as comments, its version, options and devices, then the heads of columns, then
// a row for each size with two groups of figures, out of place and in place. rccl-tests prints the
// same. What other programs print in between is left out.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/error.h"
#include "core/units.h"
#include "importing/nccl_tests_row.h"
#include "importing/readers.h"

namespace duet {
namespace {

struct RankLine {
  std::string host, process;
  ForeignDevice device;
};

// "#  Rank  0 Group  0 Pid 258189 on node-1 device  0 [0000:0f:00] NVIDIA A100-SXM4-40GB"
std::optional<RankLine> rank_line(std::string_view line) {
  const std::size_t device = line.find(" device ");
  const std::size_t open = line.find('[', std::min(device, line.size()));
  const std::size_t close = line.find(']', std::min(open, line.size()));
  if (!holds(line, "Rank ") || close == std::string_view::npos) return std::nullopt;
  const auto index = count_of(word_behind(line, " device "));
  if (!index) return std::nullopt;
  RankLine rank;
  rank.host = word_behind(line, " on ");
  rank.process = word_behind(line, "Pid ");
  rank.device.name = std::to_string(*index);
  rank.device.bus = std::string(line.substr(open + 1, close - open - 1));
  rank.device.model = trim(line.substr(close + 1));
  return rank;
}

// The columns of one group of figures, by place.
struct FigureColumns {
  std::size_t time = 0;
  std::size_t check = 0;  // what checking the data gave; 0: no such column
};

struct Header {
  std::size_t size = 0, count = 0, type = 0;
  std::optional<std::size_t> op, root;
  std::vector<FigureColumns> groups;  // out of place, then in place
  std::size_t columns = 0;            // that a row needs
  bool cpu_time = false;
  bool largest_error = false;  // `check` is the largest difference, as older versions have it
};

Header header_of(std::vector<std::string> heads) {
  heads.erase(heads.begin());  // "#"
  Header header;
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
      header.groups.push_back({i, 0});
      header.cpu_time = heads[i] == "cputime";
    }
    const bool check = heads[i] == "#wrong" || heads[i] == "error";
    if (!check || header.groups.empty()) continue;
    header.groups.back().check = i;
    header.largest_error = heads[i] == "error";
    header.columns = i + 1;
  }
  if (header.groups.size() == 2 && header.groups[0].check > 0 && header.groups[1].check > 0 &&
      header.groups[0].time > header.type) {
    return header;
  }
  throw UsageError(
      "expected the columns size, count, type, time, algbw, busbw and #wrong, with two "
      "groups of the last four");
}

// Reads one line after the other.
class NcclTestsText {
 public:
  explicit NcclTestsText(const ImportOptions& options) : options_(options) {
    found_.tool = "nccl-tests";
    found_.form = "text";
    found_.machine = found_.kind = "cuda";
  }

  void take(std::string_view line) {
    const std::string collective = collective_of_program(line);
    if (!collective.empty()) run_.collective = collective;
    if (begins_with(line, "#")) return take_comment(line);
    const std::vector<std::string> words = words_of(line);
    if (words.empty() || !count_of(words[0]) || !header_) return;
    take_row(words);
  }

  ForeignRun finish() {
    if (ranks_.empty()) ranks_ = earlier_;
    if (!ranks_.empty()) found_.devices = devices_of_first_host();
    return std::move(found_);
  }

 private:
  void take_comment(std::string_view line) {
    if (holds(line, "rccl-tests")) {
      found_.tool = "rccl-tests";
      found_.machine = found_.kind = "hip";
    }
    if (holds(line, "ccl-tests version ")) {
      found_.version = word_behind(line, "-tests version ");
      const auto code = count_of(word_behind(line, "ccl-library="));
      const std::string library = found_.kind == "hip" ? "RCCL" : "NCCL";
      if (code && *code > 0) found_.libraries = {{library, nccl_version_text(*code)}};
    } else if (holds(line, "nThread ")) {
      take_options(line);
    } else if (holds(line, "algbw") && holds(line, "busbw")) {
      header_ = header_of(words_of(line));
      run_.cpu_time = header_->cpu_time;
    } else if (const auto rank = rank_line(line)) {
      ranks_.push_back(*rank);
      run_.ranks = static_cast<int>(std::min<std::size_t>(ranks_.size(), kMostRanks));
    }
  }

  void take_options(std::string_view line) {
    if (!ranks_.empty() && !earlier_.empty()) check_same_ranks();
    if (!ranks_.empty()) earlier_ = std::move(ranks_);
    ranks_.clear();
    run_.ranks = 0;
    header_.reset();
    const auto small = [&](std::string_view label) -> std::optional<int> {
      const auto number = count_of(word_behind(line, label));
      if (!number || *number > std::numeric_limits<int>::max()) return std::nullopt;
      return static_cast<int>(*number);
    };
    run_.warm_ups = small("warmup iters: ");
    run_.iterations = word_behind(behind(line, "warmup iters: "), "iters: ");
    run_.graph_launches = small("graph: ").value_or(0);
  }

  // The whole line if it does not have the label.
  static std::string_view behind(std::string_view line, std::string_view label) {
    const std::size_t found = line.find(label);
    return found == std::string_view::npos ? line : line.substr(found + label.size());
  }

  void check_same_ranks() const {
    const bool same = std::equal(ranks_.begin(), ranks_.end(), earlier_.begin(), earlier_.end(),
                                 [](const RankLine& a, const RankLine& b) {
                                   return a.host == b.host && a.device == b.device;
                                 });
    if (!same) throw UsageError("runs on different devices: expected those of one run in a file");
  }

  void take_row(const std::vector<std::string>& words) {
    if (words.size() < header_->columns) {
      throw UsageError(
          fmt::format("expected a row of {} columns, here are {}", header_->columns, words.size()));
    }
    NcclTestsFigure figure;
    figure.bytes = count_of(words[header_->size]).value_or(0);
    figure.count = words[header_->count];
    figure.type = words[header_->type];
    figure.op = header_->op ? words[*header_->op] : "none";
    if (header_->root) figure.root = count_of(words[*header_->root]).value_or(-1);
    for (std::size_t group = 0; group < header_->groups.size(); ++group) {
      figure.in_place = group == 1;
      take_figure(figure, words, header_->groups[group]);
    }
  }

  void take_figure(NcclTestsFigure figure, const std::vector<std::string>& words,
                   const FigureColumns& columns) {
    const auto time = amount_of(words[columns.time]);
    const std::string& check = words[columns.check];
    const auto number = amount_of(check);
    if (!time || (!number && check != "N/A")) {
      throw UsageError(
          fmt::format("expected a time and a number of wrong elements, here are '{}' and '{}'",
                      words[columns.time], check));
    }
    figure.microseconds = *time;
    // Whether a difference is too large, older versions say of the whole run alone.
    if (!header_->largest_error) figure.wrong = number;
    NcclTestsRun run = run_;
    if (run.collective.empty()) run.collective = options_.collective;
    found_.cases.push_back(nccl_tests_case(run, figure));
    if (header_->largest_error) found_.cases.back().notes.emplace_back("largest_error", check);
  }

  // As a run of Duet on several hosts has them: those of the first process' host.
  std::vector<ForeignDevice> devices_of_first_host() {
    if (!earlier_.empty()) check_same_ranks();
    std::set<std::pair<std::string, std::string>> processes;
    std::vector<ForeignDevice> devices;
    found_.host = ranks_.front().host;
    for (const RankLine& rank : ranks_) {
      processes.emplace(rank.host, rank.process);
      ForeignDevice device = rank.device;
      device.name = found_.kind + ":" + device.name;
      const bool known = std::find(devices.begin(), devices.end(), device) != devices.end();
      if (rank.host == found_.host && !known) devices.push_back(std::move(device));
    }
    found_.processes = static_cast<int>(std::min<std::size_t>(processes.size(), kMostRanks));
    return devices;
  }

  static constexpr std::size_t kMostRanks = 1 << 30;
  const ImportOptions& options_;
  ForeignRun found_;
  NcclTestsRun run_;
  std::optional<Header> header_;
  std::vector<RankLine> ranks_, earlier_;  // of this run of the program, and of the one before
};

}  // namespace

ForeignRun read_nccl_tests(const std::vector<Line>& lines, const ImportOptions& options) {
  NcclTestsText reader(options);
  for_each(lines, [&](std::string_view line) { reader.take(line); });
  return reader.finish();
}

}  // namespace duet
