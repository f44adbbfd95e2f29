#include "results/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "results/journal_machines.h"
#include "results/nesting.h"
#include "results/record_check.h"

namespace duet {
namespace {

std::string read_all(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return "";
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored)) {
    throw UsageError(path + " cannot be read as a journal");
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

// The record, or a discarded value if the line is not JSON. Throws Error if it nests too deeply.
Record parse_line(std::string_view line) {
  if (nests_too_deep(line)) {
    throw Error(fmt::format("nested deeper than {} levels", kDeepestNesting));
  }
  // The parser takes a NUL for the end of its input and would ignore all bytes after it.
  if (line.find('\0') != std::string_view::npos) return Record(Record::value_t::discarded);
  return Record::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
}

std::string count_text(std::int64_t processes) {
  return processes == 1 ? "1 process" : fmt::format("{} processes", processes);
}

}  // namespace

std::vector<std::size_t> results_that_count(const std::vector<Record>& records) {
  std::vector<std::size_t> last;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i]["type"] != "result") continue;
    const auto [place, fresh] = places.emplace(case_key(case_of(records[i])), last.size());
    if (fresh) last.push_back(i);
    last[place->second] = i;
  }
  return last;
}

std::map<std::string, const Record*> JournalContents::by_case() const {
  std::map<std::string, const Record*> found;
  for (const std::size_t i : results_that_count(records)) {
    found[case_key(case_of(records[i]))] = &records[i];
  }
  return found;
}

JournalContents parse_journal(const std::string& name, std::string_view text) {
  JournalContents contents;
  contents.name = name;
  std::size_t begin = 0;
  for (int line = 1; begin < text.size(); ++line) {
    const std::size_t newline = text.find('\n', begin);
    const bool whole = newline != std::string_view::npos;
    const std::size_t end = whole ? newline : text.size();
    try {
      Record record = parse_line(text.substr(begin, end - begin));
      if (record.is_discarded() && !whole) {
        contents.warnings.push_back(
            fmt::format("{}:{}: the last record was cut short; it is dropped", name, line));
        return contents;
      }
      if (record.is_discarded()) throw Error("not a JSON record");
      check_record(record);
      auto& kept = record["type"] == "end" ? contents.ends : contents.records;
      kept.push_back(std::move(record));
    } catch (const Error& error) {
      throw UsageError(fmt::format("{}:{}: {}", name, line, error.what()));
    }
    contents.newline_missing = !whole;
    contents.good_bytes = end + (whole ? 1 : 0);
    begin = end + 1;
  }
  return contents;
}

JournalContents read_journal(const std::string& path) {
  return parse_journal(path, read_all(path));
}

JournalContents load_journal(const std::string& path) {
  constexpr const char* kExpected = "expected a journal, as --json writes";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw UsageError(fmt::format("{}: no such file: {}", path, kExpected));
  }
  const std::string text = read_all(path);
  if (text.empty()) throw UsageError(fmt::format("{}: empty: {}", path, kExpected));
  JournalContents contents = parse_journal(path, text);
  const auto is_result = [](const Record& record) { return record["type"] == "result"; };
  if (std::none_of(contents.records.begin(), contents.records.end(), is_result)) {
    std::string warnings;
    for (const std::string& warning : contents.warnings) warnings += " (" + warning + ")";
    throw UsageError(fmt::format("{}: without any result: {}{}", path, kExpected, warnings));
  }
  machines_by_name(path, contents.records);
  return contents;
}

void check_same_devices(const std::string& path, const JournalContents& contents,
                        const Record& environment) {
  const std::vector<JournalMachine> now = machines_in(std::vector<Record>(1, environment));
  for (const JournalMachine& before : machines_in(contents.records)) {
    const auto same = std::find_if(now.begin(), now.end(),
                                   [&](const auto& one) { return one.name == before.name; });
    if (same == now.end()) {
      std::string names;
      for (const auto& one : now) names += (names.empty() ? "" : ", ") + one.name;
      throw UsageError(
          fmt::format("--resume: {} is of a run on {}, this run is on {}: expected "
                      "the same devices",
                      path, before.name, names));
    }
    if (same->devices != before.devices || same->models != before.models) {
      throw UsageError(
          fmt::format("--resume: {} was measured on {}, here is {}: expected the "
                      "same devices",
                      path, device_text(before), device_text(*same)));
    }
  }
}

void check_same_processes(const std::string& path, const JournalContents& contents,
                          const Record& environment) {
  const auto now = environment.value("processes", std::int64_t{1});
  for (const Record& record : contents.records) {
    if (record["type"] != "environment") continue;
    const auto before = record.value("processes", std::int64_t{1});
    if (before == now) continue;
    throw UsageError(
        fmt::format("--resume: {} is of a run of {}, this run is of {}: expected as many", path,
                    count_text(before), count_text(now)));
  }
}

OutputFile create_journal(const std::string& path, const OutputFile::Stop& stop) {
  return OutputFile::create(path, "give --resume to go on with it, or another name", stop);
}

OutputFile open_journal(const std::string& path) {
  if (OutputFile::is_special(path)) {
    throw UsageError(path +
                     " is a pipe or a device, whose contents cannot be gone on with: "
                     "expected a file");
  }
  return OutputFile::open(path);
}

void resume_journal(OutputFile& file, const JournalContents& contents) {
  file.keep(contents.good_bytes);
  if (contents.newline_missing) file.write("\n");
}

// File names and environment variables may hold bytes that are not UTF-8.
std::string journal_line(const Record& record) {
  return record.dump(-1, ' ', false, Record::error_handler_t::replace) + "\n";
}

}  // namespace duet
