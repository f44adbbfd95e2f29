// TransferBench prints a table for each test with a row for each transfer,
//
//     Transfer 00 | 56.309 GB/s | 4.767 ms | 268435456 bytes | G0 -> G000:004 -> G1
//
// whose separators are bars, lines of box drawing, or commas. Older versions also have a CSV table
// with the heads Test#,Transfer#,NumBytes,Src,Exe,Dst,CUs,BW(GB/s),Time(ms). Transfers of one test
// run at the same time.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/units.h"
#include "importing/readers.h"

namespace duet {
namespace {

struct Transfer {
  std::int64_t test = 0, number = 0, bytes = 0;
  std::string source, executor, destination;
  std::string sub_executors;  // "": not printed
  Printed gb_per_s, milliseconds;
  std::string place;  // as ForeignCase has it
};

// "G0" of "G000": versions differ in leading zeros.
std::string place_of(const std::string& printed) {
  const std::size_t digits = printed.find_first_of("0123456789");
  if (digits == std::string::npos) return printed;
  const std::size_t first = std::min(printed.find_first_not_of('0', digits), printed.size());
  const bool zero = first == printed.size() || printed[first] < '0' || printed[first] > '9';
  return printed.substr(0, digits) + (zero ? "0" : "") + printed.substr(first);
}

// A line with spaces in place of its separators.
std::string without_bars(std::string_view line) {
  constexpr std::string_view kBars[] = {"\u2502", "|", ","};
  std::string text(line);
  for (const std::string_view bar : kBars) {
    std::size_t at = 0;
    while ((at = text.find(bar, at)) != std::string::npos) text.replace(at, bar.size(), " ");
  }
  return text;
}

class TransferBenchText {
 public:
  TransferBenchText() {
    run_.tool = run_.machine = "transferbench";
    run_.form = "text";
  }

  void take(const Line& line) {
    const std::vector<std::string> words = words_of(without_bars(line.text));
    if (words.empty()) return;
    if (words[0] == "[ERROR]") {
      throw UsageError(fmt::format("TransferBench failed: {}: expected the output of a whole run",
                                   trim(line.text)));
    }
    if (holds(line.text, "TransferBench v")) {
      begin_run(word_behind(line.text, "TransferBench v"));
    } else if (begins_with(line.text, "Test#,")) {
      begin_csv(cells_of(line.text));
    } else if (const auto test = test_of(words)) {
      begin_test(line, *test);
    } else if (words[0] == "Aggregate" && words.size() > 7 && words[7] == "bytes") {
      end_test(count_of(words[6]));
    } else if (words[0] == "Transfer" && words.size() > 3 && words[3] == "GB/s") {
      take_words(line, words);
    } else if (!heads_.empty() && count_of(cells_of(line.text)[0])) {
      take_cells(line, cells_of(line.text));
    }
  }

  ForeignRun finish() {
    at_place(std::to_string(test_line_), [&] { check_ended(); });
    std::map<std::int64_t, int> together;
    for (const Transfer& transfer : transfers_) ++together[transfer.test];
    for (const Transfer& transfer : transfers_) add_transfer(transfer, together[transfer.test]);
    return std::move(run_);
  }

 private:
  // "Test 2:"
  static std::optional<std::int64_t> test_of(const std::vector<std::string>& words) {
    const bool test = words.size() == 2 && words[0] == "Test" && words[1].back() == ':';
    return test ? count_of(words[1].substr(0, words[1].size() - 1)) : std::nullopt;
  }

  void begin_run(std::string version) {
    if (has_header_) throw UsageError("a second run of TransferBench: expected the output of one");
    has_header_ = true;
    while (!version.empty() && (version.back() == ')' || version.back() == ',')) version.pop_back();
    run_.version = std::move(version);
  }

  void begin_test(const Line& line, std::int64_t number) {
    check_ended();
    if (numbered_ && number <= test_) {
      throw UsageError(
          fmt::format("test {} below test {}: expected the output of one run", number, test_));
    }
    test_ = number;
    numbered_ = true;
    begin_table(line);
  }

  void begin_table(const Line& line) {
    test_line_ = line.number;
    test_bytes_ = 0;
    open_ = true;
  }

  void check_ended() const {
    if (!open_) return;
    throw UsageError(fmt::format(
        "the table of test {} (line {}) is not whole: expected \"Aggregate\" at its end", test_,
        test_line_));
  }

  // By the line "Aggregate", with the bytes of all transfers of the test.
  void end_test(std::optional<std::int64_t> bytes) {
    if (open_ && bytes && static_cast<std::uint64_t>(*bytes) != test_bytes_) {
      throw UsageError(
          fmt::format("the transfers of test {} move {} bytes, but the output says {}: "
                      "expected all transfers",
                      test_, test_bytes_, *bytes));
    }
    open_ = false;
    if (!numbered_) ++test_;  // tables in CSV have no line "Test N:"
  }

  void begin_csv(std::vector<std::string> heads) {
    if (!heads_.empty()) {
      throw UsageError("a second run of TransferBench: expected the output of one");
    }
    run_.form = "CSV";
    for (const char* head :
         {"Transfer#", "NumBytes", "Src", "Exe", "Dst", "BW(GB/s)", "Time(ms)"}) {
      if (std::find(heads.begin(), heads.end(), head) != heads.end()) continue;
      throw UsageError(fmt::format("expected a column \"{}\"", head));
    }
    heads_ = std::move(heads);
  }

  // Transfer N RATE GB/s TIME ms BYTES bytes SOURCE -> EXECUTOR:SUB -> DESTINATION
  void take_words(const Line& line, const std::vector<std::string>& words) {
    constexpr std::size_t kWords = 13;
    const bool whole = words.size() >= kWords && words[5] == "ms" && words[7] == "bytes" &&
                       words[9] == "->" && words[11] == "->";
    if (!whole) {
      throw UsageError(
          "expected \"Transfer N | RATE GB/s | TIME ms | BYTES bytes | SOURCE -> "
          "EXECUTOR -> DESTINATION\"");
    }
    Transfer transfer;
    transfer.test = test_;
    transfer.source = place_of(words[8]);
    const std::size_t colon = words[10].find(':');
    transfer.executor = place_of(words[10].substr(0, colon));
    if (colon != std::string::npos) transfer.sub_executors = words[10].substr(colon + 1);
    transfer.destination = place_of(words[12]);
    if (!open_) begin_table(line);
    add(line, transfer, words[1], words[6], words[2], words[4]);
  }

  void take_cells(const Line& line, const std::vector<std::string>& cells) {
    if (cells.size() < heads_.size()) {
      throw UsageError(
          fmt::format("expected a row of {} columns, here are {}", heads_.size(), cells.size()));
    }
    const auto cell = [&](const char* head) -> std::string {
      const auto found = std::find(heads_.begin(), heads_.end(), head);
      const auto place = static_cast<std::size_t>(found - heads_.begin());
      return place < heads_.size() ? cells[place] : "";
    };
    if (cell("Transfer#") == "ALL") return;  // the sum of an executor
    Transfer transfer;
    transfer.test = *count_of(cells[0]);
    transfer.source = place_of(cell("Src"));
    transfer.executor = place_of(cell("Exe"));
    transfer.destination = place_of(cell("Dst"));
    transfer.sub_executors = cell("CUs");
    add(line, transfer, cell("Transfer#"), cell("NumBytes"), cell("BW(GB/s)"), cell("Time(ms)"));
  }

  void add(const Line& line, Transfer& transfer, const std::string& number,
           const std::string& bytes, const std::string& rate, const std::string& time) {
    const auto index = count_of(number), size = count_of(bytes);
    const auto gb_per_s = printed_of(rate), milliseconds = printed_of(time);
    if (!index || !size || !gb_per_s || !milliseconds) {
      throw UsageError(
          fmt::format("expected a transfer's number, bytes, GB/s and ms, here are "
                      "'{}', '{}', '{}' and '{}'",
                      number, bytes, rate, time));
    }
    transfer.number = *index;
    transfer.bytes = *size;
    transfer.gb_per_s = *gb_per_s;
    transfer.milliseconds = *milliseconds;
    transfer.place = std::to_string(line.number);
    check_rate(transfer);
    test_bytes_ += static_cast<std::uint64_t>(transfer.bytes);
    transfers_.push_back(transfer);
  }

  // Bytes, time and rate are printed: two of them must give the third.
  static void check_rate(const Transfer& transfer) {
    constexpr double kSlack = 1e-9;  // of the arithmetic here and there
    const auto bytes = static_cast<double>(transfer.bytes);
    const Printed &rate = transfer.gb_per_s, &time = transfer.milliseconds;
    const double most = (rate.value + rate.half_unit) * (time.value + time.half_unit) * 1e6;
    const double least = std::max(0.0, rate.value - rate.half_unit) *
                         std::max(0.0, time.value - time.half_unit) * 1e6;
    if (least <= bytes * (1 + kSlack) && bytes <= most * (1 + kSlack)) return;
    throw UsageError(
        fmt::format("{} bytes in {:g} ms are {:.5g} GB/s, but the output says {:g}: "
                    "expected the same",
                    transfer.bytes, time.value, bytes / time.value / 1e6, rate.value));
  }

  void add_transfer(const Transfer& transfer, int together) {
    ForeignCase one;
    one.benchmark = "transferbench";
    one.axes = {{"test", transfer.test},
                {"transfer", transfer.number},
                {"bytes", transfer.bytes},
                {"source", transfer.source},
                {"executor", transfer.executor}};
    if (const auto count = count_of(transfer.sub_executors)) one.axes.set("sub_executors", *count);
    one.axes.set("destination", transfer.destination);
    one.cost.wire_bytes = static_cast<double>(transfer.bytes);
    // The rate has more digits than the time.
    one.seconds = transfer.gb_per_s.value > 0
                      ? one.cost.wire_bytes / (transfer.gb_per_s.value * 1e9)
                      : transfer.milliseconds.value * 1e-3;
    one.place = transfer.place;
    one.notes = {{"transfers_at_once", std::to_string(together)}};
    at_place(transfer.place, [&] { add_case(run_, std::move(one)); });
  }

  ForeignRun run_;
  std::vector<std::string> heads_;  // of a CSV table; empty: none yet
  std::vector<Transfer> transfers_;
  std::int64_t test_ = 1;
  bool numbered_ = false;
  bool has_header_ = false;
  bool open_ = false;  // a test's table has begun and not ended
  int test_line_ = 0;
  std::uint64_t test_bytes_ = 0;  // of its transfers
};

}  // namespace

ForeignRun read_transferbench(const std::vector<Line>& lines) {
  TransferBenchText reader;
  for_each(lines, [&](const Line& line) { reader.take(line); });
  return reader.finish();
}

}  // namespace duet
