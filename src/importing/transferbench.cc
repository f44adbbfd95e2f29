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
#include "importing/readers.h"

namespace duet {
namespace {

struct Transfer {
  std::int64_t test = 0, number = 0, bytes = 0;
  std::string source, executor, destination;
  std::string sub_executors;  // "": not printed
  double gb_per_s = 0, milliseconds = 0;
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

  void take(std::string_view line) {
    const std::vector<std::string> words = words_of(without_bars(line));
    if (words.empty()) return;
    if (begins_with(line, "TransferBench v")) {
      run_.version = words[1] == "v" ? "" : words[1].substr(1);
    } else if (begins_with(line, "Test#,")) {
      begin_csv(cells_of(line));
    } else if (words[0] == "Test" && words.size() == 2 && words[1].back() == ':') {
      test_ = count_of(words[1].substr(0, words[1].size() - 1)).value_or(test_);
      numbered_ = true;
    } else if (words[0] == "Aggregate") {
      if (!numbered_) ++test_;  // tables in CSV have no line "Test N:"
    } else if (words[0] == "Transfer" && words.size() > 3 && words[3] == "GB/s") {
      take_words(words);
    } else if (!heads_.empty() && count_of(cells_of(line)[0])) {
      take_cells(cells_of(line));
    }
  }

  ForeignRun finish() {
    std::map<std::int64_t, int> together;
    for (const Transfer& transfer : transfers_) ++together[transfer.test];
    for (const Transfer& transfer : transfers_) add_case(transfer, together[transfer.test]);
    return std::move(run_);
  }

 private:
  void begin_csv(std::vector<std::string> heads) {
    run_.form = "CSV";
    for (const char* head :
         {"Transfer#", "NumBytes", "Src", "Exe", "Dst", "BW(GB/s)", "Time(ms)"}) {
      if (std::find(heads.begin(), heads.end(), head) != heads.end()) continue;
      throw UsageError(fmt::format("expected a column \"{}\"", head));
    }
    heads_ = std::move(heads);
  }

  // Transfer N RATE GB/s TIME ms BYTES bytes SOURCE -> EXECUTOR:SUB -> DESTINATION
  void take_words(const std::vector<std::string>& words) {
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
    add(transfer, words[1], words[6], words[2], words[4]);
  }

  void take_cells(const std::vector<std::string>& cells) {
    const auto cell = [&](const char* head) -> std::string {
      const auto found = std::find(heads_.begin(), heads_.end(), head);
      const auto place = static_cast<std::size_t>(found - heads_.begin());
      return place < cells.size() ? cells[place] : "";
    };
    if (cell("Transfer#") == "ALL") return;  // the sum of an executor
    Transfer transfer;
    transfer.test = *count_of(cells[0]);
    transfer.source = place_of(cell("Src"));
    transfer.executor = place_of(cell("Exe"));
    transfer.destination = place_of(cell("Dst"));
    transfer.sub_executors = cell("CUs");
    add(transfer, cell("Transfer#"), cell("NumBytes"), cell("BW(GB/s)"), cell("Time(ms)"));
  }

  void add(Transfer& transfer, const std::string& number, const std::string& bytes,
           const std::string& rate, const std::string& time) {
    const auto index = count_of(number), size = count_of(bytes);
    const auto gb_per_s = amount_of(rate), milliseconds = amount_of(time);
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
    transfers_.push_back(transfer);
  }

  void add_case(const Transfer& transfer, int together) {
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
    one.seconds = transfer.gb_per_s > 0 ? one.cost.wire_bytes / (transfer.gb_per_s * 1e9)
                                        : transfer.milliseconds * 1e-3;
    one.notes = {{"transfers_at_once", std::to_string(together)}};
    run_.cases.push_back(std::move(one));
  }

  ForeignRun run_;
  std::vector<std::string> heads_;  // of a CSV table; empty: none yet
  std::vector<Transfer> transfers_;
  std::int64_t test_ = 1;
  bool numbered_ = false;
};

}  // namespace

ForeignRun read_transferbench(const std::vector<Line>& lines) {
  TransferBenchText reader;
  for_each(lines, [&](std::string_view line) { reader.take(line); });
  return reader.finish();
}

}  // namespace duet
