// nvbandwidth prints the devices, and for each test "Running NAME.", a description, a matrix with
// the numbers of columns above it and of rows at its left, and "SUM NAME total". The bidirectional
// tests have several matrices, which differ in the name after SUM.
#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "importing/nvbandwidth_matrix.h"
#include "importing/readers.h"

namespace duet {
namespace {

class NvbandwidthText {
 public:
  explicit NvbandwidthText(const ImportOptions& options) : options_(options) {}

  void take(std::string_view line) {
    if (reads_rows_ && take_row(words_of(line))) return;
    if (begins_with(line, "nvbandwidth Version: ")) run_.version = word_behind(line, "Version: ");
    if (begins_with(line, "Device ")) take_device(line);
    if (begins_with(line, "Running ")) begin_test(word_behind(line, "Running "));
    if (begins_with(line, "SUM ")) end_matrix(word_behind(line, "SUM "));
    if (holds(line, "(row)")) begin_matrix(line);
    take_status(line);
  }

  ForeignRun finish() {
    end_matrix("");
    name_machine(run_);
    return std::move(run_);
  }

 private:
  // "Device 0: NVIDIA H200 (00000000:1b:00)"
  void take_device(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const auto index = count_of(trim(line.substr(7, colon - 7)));
    const std::string model = trim(line.substr(colon + 1));
    if (index && !model.empty()) run_.devices.push_back(nvbandwidth_device(*index, model));
  }

  void begin_test(std::string test) {
    end_matrix("");
    if (!test.empty() && test.back() == '.') test.pop_back();
    test_ = std::move(test);
  }

  void begin_matrix(std::string_view description) {
    end_matrix("");
    if (test_.empty()) throw UsageError("expected \"Running TEST.\" above a matrix");
    matrix_.emplace();
    matrix_->test = test_;
    matrix_->description = trim(description);
    reads_rows_ = true;
  }

  // False if the line is not of the matrix, which then has ended.
  bool take_row(const std::vector<std::string>& words) {
    reads_rows_ = !words.empty() && count_of(words[0]).has_value();
    if (!reads_rows_) return false;
    if (columns_ == 0) {
      columns_ = words.size();
      return true;
    }
    if (words.size() != columns_ + 1) {
      throw UsageError(fmt::format("expected a row's number and {} figures, here are {} words",
                                   columns_, words.size()));
    }
    matrix_->rows.emplace_back(words.begin() + 1, words.end());
    return true;
  }

  void end_matrix(const std::string& name) {
    if (matrix_ && !name.empty()) matrix_->test = name;
    if (matrix_) take_matrix(run_, *matrix_, options_);
    matrix_.reset();
    columns_ = 0;
    reads_rows_ = false;
  }

  void take_status(std::string_view line) {
    if (test_.empty()) return;
    const std::size_t colon = line.find(": ");
    const std::string_view word = line.substr(0, colon);
    const std::string reason = colon == std::string_view::npos ? "" : trim(line.substr(colon + 2));
    if (word == "Waived" || word == "WAIVED") take_skipped(run_, test_, reason);
    if (word == "Error" || word == "ERROR") take_failed(run_, test_, reason);
  }

  const ImportOptions& options_;
  ForeignRun run_ = nvbandwidth_run("text");
  std::string test_;
  std::optional<NvbandwidthMatrix> matrix_;
  std::size_t columns_ = 0;  // of the matrix; 0: their numbers come next
  bool reads_rows_ = false;
};

}  // namespace

ForeignRun read_nvbandwidth(const std::vector<Line>& lines, const ImportOptions& options) {
  NvbandwidthText reader(options);
  for_each(lines, [&](std::string_view line) { reader.take(line); });
  return reader.finish();
}

}  // namespace duet
