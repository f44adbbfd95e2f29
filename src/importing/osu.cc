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

// The comments that tell how a test is run, and their axes.
constexpr struct {
  std::string_view label;
  const char* axis;
} kConditions[] = {{"# Datatype: ", "type"},
                   {"# Window creation: ", "window"},
                   {"# Synchronization: ", "synchronization"},
                   {"# [ pairs: ", "pairs"}};

bool is_bandwidth(const std::string& head) { return holds(head, "MB/s"); }

class OsuText {
 public:
  OsuText() {
    run_.tool = run_.machine = "osu";
    run_.form = "text";
  }

  void take(std::string_view line) {
    if (begins_with(line, "# OSU ")) {
      begin_test(line);
    } else if (is_head(line)) {
      begin_table(columns_of(line.substr(begins_with(line, "#") ? 1 : 0)));
    } else if (!heads_.empty()) {
      take_row(words_of(line));
    } else {
      take_condition(line);
    }
  }

  ForeignRun finish() { return std::move(run_); }

 private:
  void begin_test(std::string_view line) {
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
      if (!begins_with(line, label)) continue;
      std::string value = word_behind(line, label);
      if (ends_with(value, ".")) value.pop_back();
      conditions_.set(axis, std::move(value));
    }
  }

  void begin_table(std::vector<std::string> heads) {
    const auto latency = std::find_if(heads.begin(), heads.end(), is_latency);
    const auto figure =
        latency != heads.end() ? latency : std::find_if(heads.begin(), heads.end(), is_bandwidth);
    if (figure == heads.end()) throw UsageError("expected a column of latency (us) or MB/s");
    figure_ = {static_cast<std::size_t>(figure - heads.begin()), latency != heads.end()};
    has_size_ = heads[0] == "Size";
    heads_ = std::move(heads);
  }

  void take_row(const std::vector<std::string>& words) {
    const bool row = !words.empty() &&
                     (has_size_ ? count_of(words[0]).has_value() : amount_of(words[0]).has_value());
    if (!row) return;  // what MPI and libraries print in between
    const auto figure =
        words.size() == heads_.size() ? amount_of(words[figure_.place]) : std::nullopt;
    if (!figure) {
      throw UsageError(fmt::format("expected a row of {} columns with a figure below \"{}\"",
                                   heads_.size(), heads_[figure_.place]));
    }
    ForeignCase one;
    one.benchmark = "osu";
    one.axes = {{"test", test_}};
    for (const auto& [axis, value] : conditions_) one.axes.set(axis, value);
    const std::int64_t bytes = has_size_ ? *count_of(words[0]) : 0;
    if (has_size_) one.axes.set("bytes", bytes);
    set_figure(one, bytes, *figure);
    take_others(one, words);
    run_.cases.push_back(std::move(one));
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
};

}  // namespace

ForeignRun read_osu(const std::vector<Line>& lines) {
  OsuText reader;
  for_each(lines, [&](std::string_view line) { reader.take(line); });
  return reader.finish();
}

}  // namespace duet
