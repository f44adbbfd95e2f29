// nccl-tests prints, as comments, its version, options and devices, then the heads of columns, then
// a row for each size with two groups of figures, out of place and in place. rccl-tests prints the
// same. What other programs print in between is left out.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "core/error.h"
#include "core/units.h"
#include "importing/nccl_tests_lines.h"
#include "importing/nccl_tests_row.h"
#include "importing/readers.h"

namespace duet {
namespace {

bool looks_like_row(const std::vector<std::string>& words) {
  constexpr std::size_t kLeast = 7;  // size, count, type, and time, two rates and check of a group
  return words.size() >= kLeast && count_of(words[0]) && count_of(words[1]) &&
         std::isalpha(static_cast<unsigned char>(words[2][0])) != 0;
}

// Reads one line after the other. A text may hold several runs, one behind the other, on the same
// devices; each of them must be whole.
class NcclTestsText {
 public:
  explicit NcclTestsText(const ImportOptions& options) : known_(options) {
    found_.tool = "nccl-tests";
    found_.form = "text";
    found_.machine = found_.kind = "cuda";
  }

  void take(const Line& line) {
    take_program(line.text);
    if (begins_with(line.text, "rccl-tests: Version ")) {
      set_rccl();
      found_.version = word_behind(line.text, "Version ");
    }
    if (begins_with(line.text, "#")) {
      take_comment(line);
      above_ = line.text;
      return;
    }
    const std::vector<std::string> words = words_of(line.text);
    if (words.empty() || !count_of(words[0])) return;
    if (header_ && !ended_) return take_row(line, words);
    if (looks_like_row(words)) {
      throw UsageError(
          "a row without the heads of its columns: expected the output of a whole run");
    }
  }

  ForeignRun finish() {
    at_place(std::to_string(last_line_), [&] { end_run(); });
    if (ranks_.empty()) ranks_ = earlier_;
    if (!ranks_.empty()) found_.devices = devices_of_first_host();
    return std::move(found_);
  }

 private:
  void set_rccl() {
    found_.tool = "rccl-tests";
    found_.machine = found_.kind = "hip";
  }

  void take_program(std::string_view line) {
    const std::string collective = collective_of_program(line);
    if (collective.empty()) return;
    const bool other = !run_.collective.empty() && run_.collective != collective;
    if (other && begins_with(line, "# Collective test concluded")) {
      throw UsageError(fmt::format("{} ends here, but {} began: expected the output of one run",
                                   collective, run_.collective));
    }
    run_.collective = collective;
  }

  void take_comment(const Line& numbered) {
    const std::string_view line = numbered.text;
    if (holds(line, "rccl-tests") || begins_with(line, "# Errors with asterisks")) set_rccl();
    if (holds(line, "ccl-tests version ")) {
      take_version(line);
    } else if (holds(line, "# nThread")) {
      take_options(numbered);
    } else if (holds(line, "# Reducing maxBytes to ")) {
      reduce_sizes(line);
    } else if (holds(line, "algbw") && holds(line, "busbw")) {
      take_header(line);
    } else if (begins_with(line, "# Avg bus bandwidth")) {
      take_end();
    } else if (const auto rank = rank_line(line)) {
      take_rank(*rank);
    } else {
      check_program(line);
    }
  }

  void take_version(std::string_view line) {
    found_.version = word_behind(line, "-tests version ");
    const auto code = count_of(word_behind(line, "ccl-library="));
    const std::string library = found_.kind == "hip" ? "RCCL" : "NCCL";
    if (code && *code > 0) found_.libraries = {{library, nccl_version_text(*code)}};
  }

  // Of a program that Duet does not know, its lines would become those of the one before.
  void check_program(std::string_view line) const {
    for (const char* label : {"# Collective test starting: ", "# Collective test concluded: "}) {
      if (!begins_with(line, label) || !known_.collective.empty()) continue;
      const std::string program = word_behind(line, label);
      if (!collective_of_program(program).empty()) continue;
      throw UsageError(
          fmt::format("{}: expected a program of a collective that Duet measures, or "
                      "--collective",
                      program));
    }
  }

  void take_options(const Line& line) {
    try {
      end_run();
    } catch (const UsageError& error) {
      throw UsageError(
          fmt::format("a run begins before that above is whole (line {}: {}); processes that "
                      "were started without MPI print a run each",
                      last_line_, error.what()));
    }
    if (!ranks_.empty()) {
      if (!earlier_.empty()) check_same_ranks();
      earlier_ = std::move(ranks_);
    }
    begin_run(line);
  }

  void begin_run(const Line& line) {
    options_ = options_of(line.text);
    if (holds(line.text, "# nThread:")) set_rccl();  // which printed colons at first
    const std::string collective = run_.collective;
    run_ = {};
    run_.collective = collective;
    run_.warm_ups = options_.warm_ups;
    run_.iterations = options_.iterations;
    run_.graph_launches = options_.graph_launches;
    ranks_.clear();
    groups_.clear();
    header_.reset();
    sizes_ = {};
    begun_ = true;
    ended_ = false;
    last_line_ = line.number;
  }

  void reduce_sizes(std::string_view line) {
    options_.largest = number_behind(line, "# Reducing maxBytes to").value_or(options_.largest);
    options_.least = std::min(options_.least, options_.largest);
  }

  void take_header(std::string_view line) {
    if (header_ && !ended_) {
      throw UsageError(
          "the heads of the columns a second time: expected the output of one run (of several "
          "processes that were started without MPI, each prints its own)");
    }
    header_ = header_of(words_of(line), above_);
    run_.cpu_time = header_->cpu_time;
  }

  void take_rank(const RankLine& rank) {
    if (rank.rank != static_cast<std::int64_t>(ranks_.size())) {
      throw UsageError(fmt::format(
          "rank {}: expected rank {}, since a run lists each of its ranks once (several processes "
          "that were started without MPI each list their own)",
          rank.rank, ranks_.size()));
    }
    ranks_.push_back(rank);
    groups_.insert(rank.group);
    // The process of rank 0 prints, and its rates are those of its own communicator.
    if (rank.group == ranks_.front().group) ++run_.ranks;
    run_.groups = static_cast<int>(groups_.size());
  }

  void take_end() {
    if (ended_ || !header_) {
      throw UsageError(
          "the end of a run without its begin: expected the output of one run, from its options "
          "to \"# Avg bus bandwidth\"");
    }
    ended_ = true;
  }

  // Throws UsageError if the run that was read last, if any, is not whole. Some cut the lines below
  // the table off; without them a single table must have all its sizes.
  void end_run() const {
    if (!begun_ && !header_) return;
    const auto expected = options_.sizes();
    if (sizes_.combinations() == 0) {
      throw UsageError("no row of the run that begins here: expected the output of a whole run");
    }
    const bool told = ended_ || (expected && sizes_.combinations() == 1);
    if (!told) {
      throw UsageError("the run's last row, without \"# Avg bus bandwidth\" below: expected both");
    }
    sizes_.check(ended_ && !options_.tells_reduced ? std::nullopt : expected);
  }

  void check_same_ranks() const {
    const bool same = std::equal(ranks_.begin(), ranks_.end(), earlier_.begin(), earlier_.end(),
                                 [](const RankLine& a, const RankLine& b) {
                                   return a.host == b.host && a.device == b.device;
                                 });
    if (!same) throw UsageError("runs on different devices: expected those of one run in a file");
  }

  void take_row(const Line& line, const std::vector<std::string>& words) {
    if (words.size() < header_->columns) {
      throw UsageError(
          fmt::format("expected a row of {} columns, here are {}", header_->columns, words.size()));
    }
    NcclTestsFigure figure;
    const auto bytes = count_of(words[header_->size]);
    if (!bytes) {
      throw UsageError(fmt::format("expected a size, here is '{}'", words[header_->size]));
    }
    figure.bytes = *bytes;
    figure.count = words[header_->count];
    figure.type = words[header_->type];
    figure.op = header_->op ? words[*header_->op] : "none";
    if (header_->root) figure.root = count_of(words[*header_->root]).value_or(-1);
    sizes_.add(figure);
    last_line_ = line.number;
    for (const FigureColumns& group : header_->groups) {
      figure.in_place = group.in_place;
      take_figure(line, figure, words, group);
    }
  }

  void take_figure(const Line& line, NcclTestsFigure figure, const std::vector<std::string>& words,
                   const FigureColumns& columns) {
    const auto time = printed_of(words[columns.time]);
    std::string check = words[columns.check];
    // rccl-tests marks a difference that is too large.
    const bool marked = header_->largest_error && ends_with(check, "*");
    if (marked) check.pop_back();
    const auto number = amount_of(check);
    if (!time || (!number && check != "N/A")) {
      throw UsageError(
          fmt::format("expected a time and a number of wrong elements, here are '{}' and '{}'",
                      words[columns.time], words[columns.check]));
    }
    figure.microseconds = *time;
    figure.algbw = printed_of(words[columns.algbw]);
    figure.busbw = printed_of(words[columns.busbw]);
    if (!figure.algbw || !figure.busbw) {
      throw UsageError(fmt::format("expected two rates in GB/s, here are '{}' and '{}'",
                                   words[columns.algbw], words[columns.busbw]));
    }
    // Whether a difference is too large, other old versions say of the whole run alone.
    if (!header_->largest_error) figure.wrong = number;
    if (figure.bytes == 0) return;  // too small for a part of each rank: nothing was sent
    NcclTestsRun run = run_;
    if (run.collective.empty()) run.collective = known_.collective;
    ForeignCase one = nccl_tests_case(run, figure);
    one.place = std::to_string(line.number);
    if (header_->largest_error) one.notes.emplace_back("largest_error", check);
    if (marked) {
      one.verified = false;
      one.wrong = fmt::format("the largest error, {}, exceeds rccl-tests' threshold", check);
    }
    add_case(found_, std::move(one));
  }

  // As a run of Duet on several hosts has them: those of the first process' host.
  std::vector<ForeignDevice> devices_of_first_host() {
    if (!earlier_.empty()) check_same_ranks();
    const bool amd = std::any_of(ranks_.begin(), ranks_.end(), [](const RankLine& rank) {
      return begins_with(rank.device.model, "AMD ");
    });
    if (amd) set_rccl();  // whose version 2022 to 2024 does not name itself
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
  const ImportOptions& known_;
  ForeignRun found_;
  NcclTestsOptions options_;
  NcclTestsRun run_;
  std::optional<NcclTestsHeader> header_;
  std::vector<RankLine> ranks_, earlier_;  // of this run of the program, and of the one before
  std::set<std::string> groups_;           // of this run
  std::string_view above_;                 // the last comment
  NcclTestsSizes sizes_;
  bool begun_ = false, ended_ = false;
  int last_line_ = 0;  // of the run's rows; without any, of its options
};

}  // namespace

ForeignRun read_nccl_tests(const std::vector<Line>& lines, const ImportOptions& options) {
  NcclTestsText reader(options);
  for_each(lines, [&](const Line& line) { reader.take(line); });
  return reader.finish();
}

}  // namespace duet
