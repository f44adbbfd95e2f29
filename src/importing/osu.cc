// OSU micro-benchmarks print "# OSU MPI Bandwidth Test v7.5", then the heads of columns, which two
// or more spaces separate, then a row for each size. They name neither the devices nor the number
// of processes.
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/units.h"
#include "importing/readers.h"

namespace duet {
namespace {

// The column that is the figure of a row.
struct FigureColumn {
  std::size_t place = 0;
  bool latency = false;  // in microseconds; otherwise in 10^6 bytes per second
};

// Of non-blocking collectives the whole time is the figure.
bool is_latency(const std::string& head) {
  return head == "Overall(us)" || (holds(head, "Latency") && holds(head, "(us)"));
}

bool is_head(std::string_view line) {
  return holds(line, "Overall(us)") || (begins_with(line, "#") && is_latency(std::string(line))) ||
         (begins_with(line, "#") && holds(line, "MB/s"));
}

// What comments tell of how a test is run, and the axes.
constexpr struct {
  std::string_view label;
  const char* axis;
} kConditions[] = {{"# Datatype: ", "type"},
                   {"# Window creation: ", "window"},
                   {"# Synchronization: ", "synchronization"},
                   {"# [ pairs: ", "pairs"},
                   {"# Number of Sender threads: ", "sender_threads"},
                   {"# Number of Receiver threads: ", "receiver_threads"},
                   {"# Send Buffer on ", "source"},
                   {" and Receive Buffer on ", "destination"},
                   {"# Rank 0 Memory on ", "source"},
                   {" and Rank 1 Memory on ", "destination"}};

// The heads of percentiles of bandwidth are as wide as their columns: one space precedes them.
std::vector<std::string> heads_of(std::string_view line) {
  constexpr std::string_view kTail = " Tail BW(MB/s)";
  std::string text(line.substr(begins_with(line, "#") ? 1 : 0));
  for (std::size_t at = 0; (at = text.find(kTail, at)) != std::string::npos;) {
    const std::size_t head = text.rfind(' ', at == 0 ? 0 : at - 1);
    at += kTail.size();
    if (head == std::string::npos) continue;
    text.insert(head, " ");
    ++at;
  }
  return columns_of(text);
}

bool is_bandwidth(const std::string& head) { return holds(head, "MB/s"); }

class OsuText {
 public:
  OsuText() {
    run_.tool = run_.machine = "osu";
    run_.form = "text";
  }

  void take(const Line& numbered) {
    const std::string_view line = numbered.text;
    if (begins_with(line, "# OSU ")) {
      begin_test(line);
    } else if (is_head(line)) {
      begin_table(numbered, heads_of(line));
    } else if (begins_with(line, "#")) {
      take_condition(line);
    } else if (!heads_.empty()) {
      take_row(numbered, words_of(line));
    }
  }

  ForeignRun finish() {
    at_place(std::to_string(table_line_), [&] { end_table(); });
    return std::move(run_);
  }

 private:
  void begin_test(std::string_view line) {
    end_table();
    const std::string title(line.substr(6));
    const std::size_t test = title.find(" Test");
    test_ = trim(title.substr(0, test));
    const std::size_t version = title.rfind(" v");
    if (version != std::string::npos) run_.version = trim(title.substr(version + 2));
    conditions_ = {};
    heads_.clear();
  }

  void take_condition(std::string_view line) {
    for (const auto& [label, axis] : kConditions) {
      if (!holds(line, label)) continue;
      std::string value = word_behind(line, label);
      if (ends_with(value, ".")) value.pop_back();
      conditions_.set(axis, std::move(value));
    }
  }

  // Throws UsageError if the table that was read last, if any, has no row.
  void end_table() const {
    if (heads_.empty() || rows_ > 0) return;
    throw UsageError(
        fmt::format("no row below the heads of line {}: expected sizes and figures", table_line_));
  }

  void begin_table(const Line& line, std::vector<std::string> heads) {
    end_table();
    rows_ = 0;
    decimals_.clear();
    table_line_ = line.number;
    const auto latency = std::find_if(heads.begin(), heads.end(), is_latency);
    const auto figure =
        latency != heads.end() ? latency : std::find_if(heads.begin(), heads.end(), is_bandwidth);
    if (figure == heads.end()) throw UsageError("expected a column of latency (us) or MB/s");
    figure_ = {static_cast<std::size_t>(figure - heads.begin()), latency != heads.end()};
    has_size_ = heads[0] == "Size";
    heads_ = std::move(heads);
  }

  void take_row(const Line& line, const std::vector<std::string>& words) {
    const bool row = !words.empty() &&
                     (has_size_ ? count_of(words[0]).has_value() : amount_of(words[0]).has_value());
    if (!row) return;  // what MPI and libraries print in between
    const auto figure =
        words.size() == heads_.size() ? amount_of(words[figure_.place]) : std::nullopt;
    if (!figure) {
      throw UsageError(fmt::format("expected a row of {} columns with a figure below \"{}\"",
                                   heads_.size(), heads_[figure_.place]));
    }
    check_decimals(words);
    ++rows_;
    ForeignCase one;
    one.place = std::to_string(line.number);
    one.benchmark = "osu";
    one.axes = {{"test", test_}};
    for (const auto& [axis, value] : conditions_) one.axes.set(axis, value);
    const std::int64_t bytes = has_size_ ? *count_of(words[0]) : 0;
    if (has_size_) one.axes.set("bytes", bytes);
    set_figure(one, bytes, *figure);
    take_others(one, words);
    add_case(run_, std::move(one));
  }

  // All figures of a column have as many decimals, so that one that was cut shows.
  void check_decimals(const std::vector<std::string>& words) {
    std::vector<std::size_t> decimals;
    for (const std::string& word : words) {
      const std::size_t point = word.find('.');
      decimals.push_back(point == std::string::npos ? 0 : word.size() - point);
    }
    if (decimals_.empty()) decimals_ = decimals;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (decimals[i] == decimals_[i]) continue;
      throw UsageError(fmt::format("'{}' is cut: expected as many decimals as above below \"{}\"",
                                   words[i], heads_[i]));
    }
  }

  void set_figure(ForeignCase& one, std::int64_t bytes, double figure) const {
    if (figure_.latency) {
      one.seconds = figure * 1e-6;
    } else if (figure > 0) {
      one.cost.wire_bytes = static_cast<double>(bytes);
      one.seconds = one.cost.wire_bytes / (figure * 1e6);
    } else {
      one.skipped = "the bandwidth that osu prints is 0.00 MB/s";
    }
  }

  void take_others(ForeignCase& one, const std::vector<std::string>& words) const {
    for (std::size_t i = has_size_ ? 1 : 0; i < words.size(); ++i) {
      if (i != figure_.place) one.notes.emplace_back(heads_[i], words[i]);
      if (heads_[i] != "Validation") continue;
      if (words[i] != "Pass" && words[i] != "Fail") {
        throw UsageError(fmt::format("expected Pass or Fail, here is '{}'", words[i]));
      }
      one.verified = words[i] == "Pass";
      one.wrong = fmt::format("osu's validation says: {}", words[i]);
    }
  }

  ForeignRun run_;
  std::string test_;
  Axes conditions_;
  std::vector<std::string> heads_;  // empty: no table yet
  FigureColumn figure_;
  bool has_size_ = false;
  std::size_t rows_ = 0;               // of the table
  int table_line_ = 0;                 // of its heads
  std::vector<std::size_t> decimals_;  // of the columns of its first row; empty: no row yet
};

}  // namespace

ForeignRun read_osu(const std::vector<Line>& lines) {
  OsuText reader;
  for_each(lines, [&](const Line& line) { reader.take(line); });
  return reader.finish();
}

}  // namespace duet
