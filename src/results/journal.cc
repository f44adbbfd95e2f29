#include "results/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "results/journal_machines.h"
#include "results/record_json.h"

namespace duet {
namespace {

std::string read_all(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return "";
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored)) {
    throw UsageError(path + " cannot be read as a journal");
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

constexpr std::array<std::string_view, 4> kBesideFigures = {"samples", "telemetry", "timeline",
                                                            "curves"};

// True for a member of an object, as text, that has one of these names.
bool is_beside_figures(std::string_view member) {
  return std::any_of(kBesideFigures.begin(), kBesideFigures.end(), [&](std::string_view name) {
    return member.size() > name.size() + 2 && member[0] == '"' && member[name.size() + 1] == '"' &&
           member.substr(1, name.size()) == name;
  });
}

// The line's object without those members. A line that is no whole object stays as it is.
std::string with_figures_alone(std::string_view line) {
  std::string kept = "{";
  std::size_t begin = 1;  // of the member
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_text) {
      i += c == '\\' ? 1 : 0;
      in_text = c != '"';
      continue;
    }
    in_text = c == '"';
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    const bool ended = depth == 0 && i + 1 == line.size() && line.front() == '{' && c == '}';
    if (!ended && (depth != 1 || c != ',')) continue;
    const std::string_view member = line.substr(begin, i - begin);
    if (!is_beside_figures(member)) {
      kept += kept.size() > 1 ? "," : "";
      kept += member;
    }
    begin = i + 1;
    if (ended) return kept + '}';
  }
  return std::string(line);
}

// A discarded value if the line is not JSON. Throws Error if it nests too deeply.
Json parse_line(std::string_view line) {
  if (nests_too_deep(line)) {
    throw Error(fmt::format("nested deeper than {} levels", kDeepestNesting));
  }
  // The parser takes a NUL for the end of its input and would ignore all bytes after it.
  if (line.find('\0') != std::string_view::npos) return Json(Json::value_t::discarded);
  return Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
}

std::string count_text(int processes) {
  return processes == 1 ? "1 process" : fmt::format("{} processes", processes);
}

// File names and environment variables may hold bytes that are not UTF-8.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void keep(JournalContents& contents, const Json& json) {
  JournalLine line = journal_line_from(json);
  if (auto* environment = std::get_if<Environment>(&line)) {
    contents.runs.push_back({std::move(*environment), {}, line_of(json)});
  } else if (auto* end = std::get_if<RunEnd>(&line)) {
    contents.ends.push_back(std::move(*end));
  } else {
    if (contents.runs.empty()) contents.runs.emplace_back();
    contents.runs.back().results.push_back(std::get<Record>(std::move(line)));
  }
}

}  // namespace

std::vector<const Record*> results_that_count(const std::vector<JournalRun>& runs) {
  std::vector<const Record*> last;
  std::map<std::string, std::size_t> places;
  for (const JournalRun& run : runs) {
    for (const Record& record : run.results) {
      const auto [place, fresh] = places.emplace(case_key(record.id), last.size());
      if (fresh) last.emplace_back();
      last[place->second] = &record;
    }
  }
  return last;
}

std::map<std::string, const Record*> JournalContents::by_case() const {
  std::map<std::string, const Record*> found;
  for (const Record* record : results_that_count(runs)) found[case_key(record->id)] = record;
  return found;
}

JournalContents parse_journal(const std::string& name, std::string_view text, JournalParts parts) {
  JournalContents contents;
  contents.name = name;
  std::size_t begin = 0;
  for (int line = 1; begin < text.size(); ++line) {
    const std::size_t newline = text.find('\n', begin);
    const bool whole = newline != std::string_view::npos;
    const std::size_t end = whole ? newline : text.size();
    try {
      const std::string_view one = text.substr(begin, end - begin);
      const Json json =
          parts == JournalParts::all ? parse_line(one) : parse_line(with_figures_alone(one));
      if (json.is_discarded() && !whole) {
        contents.warnings.push_back(
            fmt::format("{}:{}: the last record was cut short; it is dropped", name, line));
        return contents;
      }
      if (json.is_discarded()) throw Error("not a JSON record");
      keep(contents, json);
    } catch (const Error& error) {
      throw UsageError(fmt::format("{}:{}: {}", name, line, error.what()));
    }
    contents.newline_missing = !whole;
    contents.good_bytes = end + (whole ? 1 : 0);
    begin = end + 1;
  }
  return contents;
}

JournalContents read_journal(const std::string& path, JournalParts parts) {
  return parse_journal(path, read_all(path), parts);
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
  const auto has_results = [](const JournalRun& run) { return !run.results.empty(); };
  if (std::none_of(contents.runs.begin(), contents.runs.end(), has_results)) {
    std::string warnings;
    for (const std::string& warning : contents.warnings) warnings += " (" + warning + ")";
    throw UsageError(fmt::format("{}: without any result: {}{}", path, kExpected, warnings));
  }
  machines_by_name(path, contents.runs);
  return contents;
}

void check_same_devices(const std::string& path, const JournalContents& contents,
                        const Environment& environment) {
  const std::vector<JournalMachine> now = machines_in({{environment, {}}});
  for (const JournalMachine& before : machines_in(contents.runs)) {
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
                          const Environment& environment) {
  const int now = environment.processes;
  for (const JournalRun& run : contents.runs) {
    const int before = run.environment.processes;
    if (before == now || run.line.empty()) continue;
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

std::string journal_line(const Environment& environment) { return line_of(to_json(environment)); }
std::string journal_line(const Record& record) { return line_of(to_json(record)); }
std::string journal_line(const RunEnd& end) { return line_of(to_json(end)); }

}  // namespace duet
