#include "importing/import.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/plain_text.h"
#include "results/record_json.h"

namespace duet {
namespace {

constexpr const char* kExpected =
    "expected the output of nccl-tests (text, or the file of -J), nvbandwidth (text, or JSON of "
    "-j), OSU micro-benchmarks (text) or TransferBench (text or CSV)";

ForeignRun read_json(std::string_view text, const ImportOptions& options) {
  if (nests_too_deep(text)) {
    throw UsageError(fmt::format("nested deeper than {} levels: {}", kDeepestNesting, kExpected));
  }
  const auto report = nlohmann::ordered_json::parse(text.begin(), text.end(), nullptr,
                                                    /*allow_exceptions=*/false);
  if (report.is_discarded()) throw UsageError(fmt::format("not whole JSON: {}", kExpected));
  if (report.contains("nvbandwidth")) return read_nvbandwidth_json(report, options);
  if (report.contains("nccl_version") || report.contains("rccl_version"))
    return read_nccl_tests_json(report, options);
  throw UsageError(fmt::format("JSON of no tool that is known: {}", kExpected));
}

bool is_nccl_tests(std::string_view line) {
  return begins_with(line, "#") && holds(line, "algbw") && holds(line, "busbw");
}

bool is_nvbandwidth(std::string_view line) {
  return begins_with(line, "nvbandwidth Version") ||
         ((holds(line, "(row)") || holds(line, "(column)")) &&
          (holds(line, "(GB/s)") || holds(line, "(ns)")));
}

bool is_transferbench(std::string_view line) {
  return begins_with(line, "TransferBench v") || begins_with(line, "Test#,") ||
         (holds(line, "Executor:") && holds(line, "GB/s"));
}

ForeignRun read_text(std::string_view text, const ImportOptions& options) {
  const std::vector<Line> lines = lines_of(text);
  for (const Line& line : lines) {
    if (is_nccl_tests(line.text)) return read_nccl_tests(lines, options);
    if (begins_with(line.text, "# OSU ")) return read_osu(lines);
    if (is_nvbandwidth(line.text)) return read_nvbandwidth(lines, options);
    if (is_transferbench(line.text)) return read_transferbench(lines);
  }
  throw UsageError(fmt::format("of no tool that is known: {}", kExpected));
}

ForeignRun read_any(std::string_view text, const ImportOptions& options) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) throw UsageError(fmt::format("empty: {}", kExpected));
  return text[begin] == '{' ? read_json(text.substr(begin), options) : read_text(text, options);
}

}  // namespace

JournalRun import_run(const std::string& name, std::string_view text,
                      const ImportOptions& options) {
  try {
    const ForeignRun run = read_any(text, options);
    if (run.cases.empty()) throw UsageError(fmt::format("no results of {} in it", run.tool));
    return records_of(run, name);
  } catch (const Error& error) {
    const std::string message = one_line(error.what());
    const bool numbered = !message.empty() && message[0] >= '0' && message[0] <= '9';
    throw UsageError(fmt::format("{}:{}{}", name, numbered ? "" : " ", message));
  }
}

}  // namespace duet
