// The tuning file's form: {"format": 1, "entries": [{"device", "ranks", "several_processes",
// "dma_from"}]}.
#include "collectives/peer/tuning_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace duet {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

[[noreturn]] void refuse(const std::string& source, const std::string& expected) {
  throw UsageError(fmt::format("{}: expected {}", source, expected));
}

void require(bool holds, const std::string& source, const std::string& expected) {
  if (!holds) refuse(source, expected);
}

Json parse(const std::string& text, const std::string& source) {
  const Json json = Json::parse(text, nullptr, false);
  require(!json.is_discarded(), source, "JSON, as duet collective --tune writes it");
  return json;
}

Json to_json(const Thresholds& thresholds) {
  Json json = Json::object();
  for (const auto& [kind, bytes] : thresholds.measured()) {
    json[std::string(name(kind))] = bytes == Thresholds::kNever ? Json() : Json(bytes);
  }
  return json;
}

Thresholds thresholds_of(const Json& json, const std::string& source) {
  require(json.is_object(), source, "\"dma_from\" with bytes by collective");
  Thresholds thresholds;
  for (const auto& [word, bytes] : json.items()) {
    const auto kinds = all_collectives();
    const auto same = [&text = word](CollectiveKind kind) { return name(kind) == text; };
    const auto kind = std::find_if(kinds.begin(), kinds.end(), same);
    require(kind != kinds.end(), source, fmt::format("a collective, not \"{}\"", word));
    require(bytes.is_null() || bytes.is_number_unsigned(), source,
            fmt::format("bytes or null (never) for {}", word));
    thresholds.set(*kind, bytes.is_null() ? Thresholds::kNever : bytes.get<std::uint64_t>());
  }
  return thresholds;
}

TuningSetup setup_of(const Json& entry, const std::string& source) {
  require(entry.is_object() && entry.contains("device") && entry["device"].is_string(), source,
          "\"device\", a text");
  require(entry.contains("ranks") && entry["ranks"].is_number_integer() && entry["ranks"] > 0 &&
              entry["ranks"] < 1000000,
          source, "\"ranks\", a whole number from 1");
  require(entry.contains("several_processes") && entry["several_processes"].is_boolean(), source,
          "\"several_processes\", true or false");
  require(entry.contains("dma_from"), source, "\"dma_from\" with bytes by collective");
  return {entry["device"], entry["ranks"], entry["several_processes"]};
}

// Where a new file grows before it takes its place: of one folder, so that renaming is one step.
std::string part_of(const std::string& path) { return fmt::format("{}.{}", path, ::getpid()); }

[[noreturn]] void cannot_write(const std::string& path) {
  throw UsageError(
      fmt::format("tuning file {} cannot be written: {}; expected another in "
                  "DUET_TUNING",
                  path, std::strerror(errno)));
}

}  // namespace

std::string thresholds_text(const Thresholds& thresholds) { return to_json(thresholds).dump(); }

Thresholds parse_thresholds(const std::string& text, const std::string& source) {
  return thresholds_of(parse(text, source), source);
}

std::string TuningFile::usual_path() {
  if (const std::string named = variable("DUET_TUNING"); !named.empty()) return named;
  if (const std::string folder = variable("XDG_CONFIG_HOME"); !folder.empty()) {
    return folder + "/duet/tuning.json";
  }
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.config/duet/tuning.json";
}

TuningFile::TuningFile(std::string path) : path_(std::move(path)) { read(); }

void TuningFile::read() {
  entries_.clear();
  if (path_.empty()) return;
  std::error_code ignored;
  const auto type = std::filesystem::status(path_, ignored).type();
  if (type == std::filesystem::file_type::not_found) return;
  const std::string source = "tuning file " + path_;
  std::ifstream file(path_);
  require(file.is_open() && type != std::filesystem::file_type::directory, source,
          "a file that can be read");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const Json json = parse(text, source);
  require(json.is_object() && json.contains("format") && json["format"] == kFormat, source,
          fmt::format("\"format\": {}, as duet collective --tune writes it", kFormat));
  require(json.contains("entries") && json["entries"].is_array(), source, "\"entries\", a list");
  for (const Json& entry : json["entries"]) {
    const std::string place = fmt::format("{}, entry {}", source, entries_.size() + 1);
    const TuningSetup setup = setup_of(entry, place);
    entries_.emplace_back(setup, thresholds_of(entry["dma_from"], place));
  }
}

Thresholds TuningFile::thresholds(const TuningSetup& setup) const {
  const auto same = [&](const Entry& entry) { return entry.first == setup; };
  const auto found = std::find_if(entries_.begin(), entries_.end(), same);
  return found == entries_.end() ? Thresholds{} : found->second;
}

void TuningFile::store(const TuningSetup& setup, const Thresholds& thresholds) {
  read();
  const auto same = [&](const Entry& entry) { return entry.first == setup; };
  auto found = std::find_if(entries_.begin(), entries_.end(), same);
  if (found == entries_.end()) found = entries_.insert(entries_.end(), {setup, {}});
  for (const auto& [kind, bytes] : thresholds.measured()) found->second.set(kind, bytes);
  require_writable();
  write();
}

void TuningFile::write() const {
  Json json = {{"format", kFormat}, {"entries", Json::array()}};
  for (const auto& [setup, thresholds] : entries_) {
    json["entries"].push_back({{"device", setup.device},
                               {"ranks", setup.ranks},
                               {"several_processes", setup.several_processes},
                               {"dma_from", to_json(thresholds)}});
  }
  // A link stays one: what it names is replaced.
  std::error_code ignored;
  const std::string target = std::filesystem::weakly_canonical(path_, ignored).string();
  const std::string part = part_of(target);
  std::ofstream file(part);
  file << json.dump(1) << '\n';
  file.close();
  if (!file || std::rename(part.c_str(), target.c_str()) != 0) {
    const int reason = errno;
    std::remove(part.c_str());
    errno = reason;
    cannot_write(path_);
  }
}

void TuningFile::require_writable() const {
  if (path_.empty()) {
    throw UsageError("no place for the tuning file: expected DUET_TUNING, XDG_CONFIG_HOME or HOME");
  }
  std::error_code failed;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path_, failed);
  std::filesystem::create_directories(target.parent_path(), failed);
  errno = std::filesystem::is_directory(target) ? EISDIR : 0;
  if (errno != 0) cannot_write(path_);
  const std::string part = part_of(target.string());
  const int opened = ::open(part.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (opened < 0) cannot_write(path_);
  ::close(opened);
  ::unlink(part.c_str());
}

}  // namespace duet
