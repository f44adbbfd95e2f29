// Journals read and written; see journal.h.
#include "results/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

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

// What the writers take for granted.
void check_shown(const Record& record) {
  const Outcome outcome = outcome_of(record);
  if (outcome != Outcome::measured && outcome != Outcome::derived) return;
  for (const char* part : {"rates", "notes"}) {
    if (!record.contains(part) || !record[part].is_object()) {
      throw Error(fmt::format("\"{}\" is missing or no object", part));
    }
  }
  for (const auto& [rate, value] : record["rates"].items()) {
    if (!value.is_number()) throw Error(fmt::format("the rate \"{}\" is no number", rate));
  }
  if (outcome == Outcome::derived) return;
  for (const char* figure :
       {"median", "mean", "min", "p5", "p95", "p99", "ci_low", "ci_high", "n"}) {
    if (!record["seconds"].contains(figure) || !record["seconds"][figure].is_number()) {
      throw Error(fmt::format("\"seconds\" has no number \"{}\"", figure));
    }
  }
}

void check_machines(const Record& environment) {
  const auto named = [](const Record& thing) {
    return thing.is_object() && thing.contains("name") && thing["name"].is_string();
  };
  if (!environment.contains("machines") || !environment["machines"].is_array()) {
    throw Error("the environment has no list of \"machines\"");
  }
  for (const Record& machine : environment["machines"]) {
    if (!named(machine)) throw Error("a machine of the environment has no \"name\"");
    const Record devices = machine.value("devices", Record::array());
    if (!devices.is_array() || !std::all_of(devices.begin(), devices.end(), named)) {
      throw Error("a device of the environment has no \"name\"");
    }
  }
}

// Throws Error without a place: the caller knows file and line.
void check_record(const Record& record) {
  if (!record.is_object() || !record.contains("type") || !record.contains("schema")) {
    throw Error("not a record: expected an object with \"type\" and \"schema\"");
  }
  if (record["schema"] != kJournalSchema) {
    throw Error(fmt::format("the record has schema {}, this version of duet reads schema {}",
                            record["schema"].dump(), kJournalSchema));
  }
  if (record["type"] == "result") {
    finished_of(record);
    reason_of(record);
    check_shown(record);
  } else if (record["type"] == "environment") {
    check_machines(record);
  } else {
    throw Error(fmt::format("unknown type {}: expected \"environment\" or \"result\"",
                            record["type"].dump()));
  }
}

std::string models(const Record& machine) {
  std::string text;
  for (const Record& device : machine.value("devices", Record::array())) {
    const std::string model = device.value("model", "");
    text += (text.empty() ? "" : ", ") + device.value("name", "") + " = " + model;
  }
  return text;
}

}  // namespace

std::map<std::string, const Record*> JournalContents::by_case() const {
  std::map<std::string, const Record*> found;
  for (const Record& record : records) {
    if (record["type"] == "result") found[case_key(case_of(record))] = &record;
  }
  return found;
}

JournalContents read_journal(const std::string& path) {
  const std::string text = read_all(path);
  JournalContents contents;
  std::size_t begin = 0;
  for (int line = 1; begin < text.size(); ++line) {
    const std::size_t newline = text.find('\n', begin);
    const bool whole = newline != std::string::npos;
    const std::size_t end = whole ? newline : text.size();
    const Record record = Record::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                        text.begin() + static_cast<std::ptrdiff_t>(end), nullptr,
                                        /*allow_exceptions=*/false);
    if (record.is_discarded() && !whole) {
      contents.warnings.push_back(
          fmt::format("{}:{}: the last record was cut short; it is dropped", path, line));
      return contents;
    }
    try {
      if (record.is_discarded()) throw Error("not a JSON record");
      check_record(record);
    } catch (const Error& error) {
      throw UsageError(fmt::format("{}:{}: {}", path, line, error.what()));
    } catch (const nlohmann::json::exception& error) {
      throw UsageError(fmt::format("{}:{}: not a record: {}", path, line, error.what()));
    }
    contents.records.push_back(record);
    contents.newline_missing = !whole;
    contents.good_bytes = end + (whole ? 1 : 0);
    begin = end + 1;
  }
  return contents;
}

void check_same_devices(const std::string& path, const JournalContents& contents,
                        const Record& environment) {
  for (const Record& before : contents.records) {
    if (before["type"] != "environment") continue;
    for (const Record& machine : before["machines"]) {
      const std::string name = machine.value("name", "");
      const Record* same = nullptr;
      std::string now;
      for (const Record& candidate : environment["machines"]) {
        if (candidate["name"] == name) same = &candidate;
        now += (now.empty() ? "" : ", ") + candidate["name"].get<std::string>();
      }
      if (same == nullptr) {
        throw UsageError(
            fmt::format("--resume: {} is of a run on {}, this run is on {}: expected "
                        "the same devices",
                        path, name, now));
      }
      if (models(*same) != models(machine)) {
        throw UsageError(
            fmt::format("--resume: {} was measured on {}, here is {}: expected the "
                        "same devices",
                        path, models(machine), models(*same)));
      }
    }
  }
}

OutputFile create_journal(const std::string& path) {
  return OutputFile::create(path, "give --resume to go on with it, or another name");
}

OutputFile resume_journal(const std::string& path, const JournalContents& contents) {
  OutputFile file = OutputFile::continue_after(path, contents.good_bytes);
  if (contents.newline_missing) file.write("\n");
  return file;
}

// File names and variables may hold bytes that are not UTF-8: they are replaced.
std::string journal_line(const Record& record) {
  return record.dump(-1, ' ', false, Record::error_handler_t::replace) + "\n";
}

}  // namespace duet
