// nvbandwidth prints the devices, and for each test "Running NAME.", a description, a matrix with
// the numbers of columns above it and of rows at its left, and "SUM NAME total". The bidirectional
// tests have several matrices, which differ in the name after SUM. A test that is left out has the
// line "Waived: " alone, without its name; the oldest versions say "Waiving NAME.".
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/units.h"
#include "importing/nvbandwidth_matrix.h"
#include "importing/readers.h"

namespace duet {
namespace {

class NvbandwidthText {
 public:
  explicit NvbandwidthText(const ImportOptions& options) : options_(options) {}

  void take(const Line& line) {
    const std::vector<std::string> words = words_of(line.text);
    if (!(reads_rows_ && take_row(line, words)) && !take_head(line, words)) take_other(line);
    above_ = line.text;
  }

  ForeignRun finish() {
    at_place(std::to_string(test_line_), [&] { end_test(); });
    name_machine(run_);
    return std::move(run_);
  }

 private:
  void take_other(const Line& line) {
    const std::string_view text = line.text;
    if (begins_with(text, "nvbandwidth Version: ")) take_version(text);
    if (begins_with(text, "Device ")) take_device(text);
    if (begins_with(text, "Process ")) take_process(text);
    if (begins_with(text, "Running ")) begin_test(line, name_behind(text, "Running "));
    if (begins_with(text, "Waiving ")) {
      end_test();
      take_without_figures(run_, true, name_behind(text, "Waiving "), "nvbandwidth says: Waiving",
                           place(line));
    }
    for (const char* label : {"SUM ", "&&&& PERF "}) {
      if (begins_with(text, label)) end_matrix(words_of(behind(text, label)));
    }
    take_status(line);
  }

  static std::string place(const Line& line) { return std::to_string(line.number); }

  static std::string name_behind(std::string_view text, std::string_view label) {
    std::string name = word_behind(text, label);
    if (ends_with(name, ".")) name.pop_back();
    return name;
  }

  // Runs of other tests on the same machine may follow.
  void take_version(std::string_view line) {
    end_test();
    const std::string version = word_behind(line, "Version: ");
    if (!run_.version.empty() && version != run_.version) refuse_other_run();
    run_.version = version;
  }

  [[noreturn]] static void refuse_other_run() {
    throw UsageError(
        "a run of another version or on other devices: expected those of one machine in a file");
  }

  // "Device 0: NVIDIA H200 (00000000:1b:00)", below the host's name if the version prints it
  void take_device(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const auto index = count_of(trim(line.substr(7, colon - 7)));
    const std::string model = trim(line.substr(colon + 1));
    if (!index || model.empty()) return;
    if (*index == 0 && words_of(above_).size() == 1) take_host(trim(above_));
    add_device(nvbandwidth_device(*index, model));
  }

  void take_host(const std::string& host) {
    if (!run_.host.empty() && host != run_.host) refuse_other_run();
    run_.host = host;
  }

  void add_device(ForeignDevice device) {
    for (const ForeignDevice& known : run_.devices) {
      if (known == device) return;
      if (known.name == device.name) refuse_other_run();
    }
    run_.devices.push_back(std::move(device));
  }

  // "Process 0 (node-1): device 0: NVIDIA H200 (00000000:1b:00)", of which those of the first host
  // are taken
  void take_process(std::string_view line) {
    const std::string_view device = behind(line, "): device ");
    const std::size_t colon = device.find(": ");
    const auto number = number_behind(line, "Process ");
    const auto index = count_of(trim(device.substr(0, colon)));
    if (!number || !index || colon == std::string_view::npos) return;
    const std::string_view from_host = behind(line, " (");
    const std::string host(from_host.substr(0, from_host.find("): device ")));
    if (*number == 0) take_host(host);
    constexpr std::int64_t kMost = 1 << 30;
    run_.processes = std::max(run_.processes, static_cast<int>(std::min(*number, kMost)) + 1);
    if (host == run_.host) {
      add_device(nvbandwidth_device(*index, std::string(device.substr(colon + 2))));
    }
  }

  void begin_test(const Line& line, std::string test) {
    end_test();
    test_ = std::move(test);
    test_line_ = line.number;
    has_result_ = false;
  }

  // Throws UsageError if what began with "Running" has no result.
  void end_test() {
    if (matrix_) {
      throw UsageError(
          fmt::format("the matrix of {} (line {}) is not whole: expected \"SUM\" and "
                      "its name below it",
                      matrix_->test, matrix_line_));
    }
    if (!test_.empty() && !has_result_) {
      throw UsageError(
          fmt::format("{} (line {}) has no figures: expected a matrix, or why there is "
                      "none",
                      test_, test_line_));
    }
    test_.clear();
  }

  // The numbers of columns begin a matrix, which the line above describes. False for other lines.
  bool take_head(const Line& line, const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] != std::to_string(i)) return false;
    }
    const std::string description = trim(above_);
    if (words.empty() || description.empty()) return false;
    if (matrix_) end_test();
    if (test_.empty()) {
      const bool described = holds(description, "(row)") || holds(description, "(column)");
      if (!described) return false;
      throw UsageError("expected \"Running TEST.\" above a matrix");
    }
    matrix_.emplace();
    matrix_->test = test_;
    matrix_->description = description;
    matrix_line_ = line.number;
    columns_ = words.size();
    reads_rows_ = true;
    return true;
  }

  // A row's number, or a pair of processes such as "0->2", and its figures. Rows end with an empty
  // line. False if the line is no row: what other programs print in between.
  bool take_row(const Line& line, const std::vector<std::string>& words) {
    if (words.empty()) reads_rows_ = false;
    const bool pair = !words.empty() && holds(words[0], "->");
    if (words.empty() || (!pair && !count_of(words[0]))) return false;
    const std::size_t label = pair && words.size() == columns_ + 2 ? 2 : 1;  // "10-> 2"
    if (words.size() != columns_ + label) {
      throw UsageError(fmt::format("expected a row's number and {} figures, here are {} words",
                                   columns_, words.size()));
    }
    matrix_->rows.emplace_back(words.begin() + static_cast<std::ptrdiff_t>(label), words.end());
    matrix_->places.push_back(place(line));
    return true;
  }

  // By its name and sum: "device_to_device_memcpy_read_ce 781.30".
  void end_matrix(const std::vector<std::string>& words) {
    const auto sum = words.size() < 2 ? std::nullopt : printed_of(words[1]);
    if (!matrix_ || !sum) {
      throw UsageError("expected a matrix and below it \"SUM\" with its name and the sum");
    }
    matrix_->test = words[0];
    matrix_->sum = sum;
    take_matrix(run_, *matrix_, options_);
    matrix_.reset();
    reads_rows_ = false;
    has_result_ = true;
  }

  // Of the test that runs and has no figures yet, or of another one, whose name may not be printed.
  void take_status(const Line& line) {
    const std::size_t colon = line.text.find(':');
    const std::string_view word = line.text.substr(0, colon);
    const bool waived = word == "Waived" || word == "WAIVED";
    const bool failed = word == "Error" || word == "ERROR";
    if (colon == std::string_view::npos || (!waived && !failed)) return;
    std::string reason = trim(line.text.substr(colon + 1));
    std::string test = test_;
    if (test_.empty() || has_result_) {
      test = waived ? fmt::format("waived test {}", ++waived_) : test_of(reason);
      if (test.empty()) return;  // of another program
      end_test();
    }
    has_result_ = true;
    if (reason.empty()) reason = fmt::format("nvbandwidth says: {}", word);
    take_without_figures(run_, waived, test, reason, place(line));
  }

  // "Testcase NAME not found!", "Testcase index NUMBER out of bound!"; "" of other reasons.
  static std::string test_of(const std::string& reason) {
    const std::string name = word_behind(reason, "Testcase ");
    if (name == "index") return name + " " + word_behind(reason, "index ");
    return name;
  }

  const ImportOptions& options_;
  ForeignRun run_ = nvbandwidth_run("text");
  std::string test_;  // that runs, or ran last; "": none yet
  int test_line_ = 0;
  bool has_result_ = false;  // of test_
  std::optional<NvbandwidthMatrix> matrix_;
  int matrix_line_ = 0;
  std::size_t columns_ = 0;  // of the matrix
  bool reads_rows_ = false;
  std::string_view above_;  // the line before
  int waived_ = 0;          // without a name
};

}  // namespace

ForeignRun read_nvbandwidth(const std::vector<Line>& lines, const ImportOptions& options) {
  NvbandwidthText reader(options);
  for_each(lines, [&](const Line& line) { reader.take(line); });
  return reader.finish();
}

}  // namespace duet
