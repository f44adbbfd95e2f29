// The tuning file's form: {"format": 1, "entries": [{"device", "ranks", "several_processes",
// "dma_from", "dma_from_beside_nccl", "packets_beside_nccl", "kernel_beside_nccl"}]}; the last
// three are left out where NCCL was not measured, and the last one has {"above", "to"} by
// collective.
#include "collectives/tuning/tuning_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace duet {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::uint64_t kMostTunedBytes = std::uint64_t{1} << 60;
constexpr int kMostTunedRanks = 1000000;

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

Json to_json(const std::map<CollectiveKind, std::uint64_t>& sizes) {
  Json json = Json::object();
  for (const auto& [kind, bytes] : sizes) {
    json[std::string(name(kind))] = bytes == Thresholds::kNever ? Json() : Json(bytes);
  }
  return json;
}

CollectiveKind kind_of(const std::string& word, const std::string& source) {
  const auto kinds = all_collectives();
  const auto same = [&word](CollectiveKind kind) { return name(kind) == word; };
  const auto kind = std::find_if(kinds.begin(), kinds.end(), same);
  require(kind != kinds.end(), source, fmt::format("a collective, not \"{}\"", word));
  return *kind;
}

bool is_size(const Json& bytes) {
  return bytes.is_number_unsigned() && bytes.get<std::uint64_t>() <= kMostTunedBytes;
}

// Bytes by collective. null: kNever.
Thresholds thresholds_of(const Json& json, const std::string& source) {
  require(json.is_object(), source, "an object with bytes by collective");
  Thresholds thresholds;
  for (const auto& [word, bytes] : json.items()) {
    const CollectiveKind kind = kind_of(word, source);
    require(bytes.is_null() || is_size(bytes), source,
            fmt::format("bytes from 0 to {} or null (never) for {}, not {}", kMostTunedBytes, word,
                        bytes.dump()));
    thresholds.set(kind, bytes.is_null() ? Thresholds::kNever : bytes.get<std::uint64_t>());
  }
  return thresholds;
}

std::map<CollectiveKind, SizeRange> kernel_of(const Json& json, const std::string& source) {
  require(json.is_object(), source, "an object with sizes of the drop-in's kernel by collective");
  std::map<CollectiveKind, SizeRange> read;
  for (const auto& [word, range] : json.items()) {
    const CollectiveKind kind = kind_of(word, source);
    require(range.is_object() && range.contains("above") && range.contains("to") &&
                is_size(range["above"]) && is_size(range["to"]),
            source, fmt::format("\"above\" and \"to\", in bytes, for {}", word));
    read[kind] = {range["above"], range["to"]};
  }
  return read;
}

std::map<CollectiveKind, std::uint64_t> packets_of(const Json& json, const std::string& source) {
  const Thresholds read = thresholds_of(json, source);
  for (const auto& [kind, bytes] : read.all()) {
    require(bytes != Thresholds::kNever, source,
            fmt::format("bytes of packets for {}, not null", name(kind)));
  }
  return read.all();
}

BesideNccl beside_nccl_of(const Json& entry, const std::string& source) {
  const auto copies = entry.find("dma_from_beside_nccl");
  const auto packets = entry.find("packets_beside_nccl");
  const auto kernel = entry.find("kernel_beside_nccl");
  BesideNccl read;
  if (copies != entry.end()) read.copies = thresholds_of(*copies, source);
  if (packets != entry.end()) read.packets = packets_of(*packets, source);
  if (kernel != entry.end()) read.kernel = kernel_of(*kernel, source);
  return read;
}

TuningSetup setup_of(const Json& entry, const std::string& source) {
  require(entry.is_object() && entry.contains("device") && entry["device"].is_string(), source,
          "\"device\", a text");
  require(entry.contains("ranks") && entry["ranks"].is_number_integer() && entry["ranks"] > 0 &&
              entry["ranks"] <= kMostTunedRanks,
          source, fmt::format("\"ranks\", a whole number from 1 to {}", kMostTunedRanks));
  require(entry.contains("several_processes") && entry["several_processes"].is_boolean(), source,
          "\"several_processes\", true or false");
  require(entry.contains("dma_from"), source, "\"dma_from\" with bytes by collective");
  return {entry["device"], entry["ranks"], entry["several_processes"]};
}

}  // namespace

std::string thresholds_text(const Thresholds& thresholds) {
  return to_json(thresholds.all()).dump();
}

Thresholds parse_thresholds(const std::string& text, const std::string& source) {
  return thresholds_of(parse(text, source), source);
}

std::string TuningFile::usual_path() {
  return StoredFile::usual_path("DUET_TUNING", "tuning.json");
}

TuningFile::TuningFile(std::string path) : file_(std::move(path), "tuning file", "DUET_TUNING") {
  read();
}

void TuningFile::read() {
  entries_.clear();
  const std::optional<std::string> text = file_.read();
  if (!text) return;
  const std::string source = file_.source();
  const Json json = parse(*text, source);
  require(json.is_object() && json.contains("format") && json["format"] == kFormat, source,
          fmt::format("\"format\": {}, as duet collective --tune writes it", kFormat));
  require(json.contains("entries") && json["entries"].is_array(), source, "\"entries\", a list");
  for (const Json& entry : json["entries"]) {
    const std::string place = fmt::format("{}, entry {}", source, entries_.size() + 1);
    const TuningSetup setup = setup_of(entry, place);
    entries_.push_back(
        {setup, thresholds_of(entry["dma_from"], place), beside_nccl_of(entry, place)});
  }
}

Thresholds TuningFile::thresholds(const TuningSetup& setup) const {
  const auto same = [&](const Entry& entry) { return entry.setup == setup; };
  const auto found = std::find_if(entries_.begin(), entries_.end(), same);
  return found == entries_.end() ? Thresholds{} : found->thresholds;
}

void TuningFile::store(const TuningSetup& setup, const Thresholds& thresholds,
                       const BesideNccl& beside_nccl) {
  read();
  const auto same = [&](const Entry& entry) { return entry.setup == setup; };
  auto found = std::find_if(entries_.begin(), entries_.end(), same);
  if (found == entries_.end()) found = entries_.insert(entries_.end(), {setup, {}, {}});
  for (const auto& [kind, bytes] : thresholds.all()) found->thresholds.set(kind, bytes);
  for (const auto& [kind, bytes] : beside_nccl.copies.all()) {
    found->beside_nccl.copies.set(kind, bytes);
  }
  for (const auto& [kind, bytes] : beside_nccl.packets) found->beside_nccl.packets[kind] = bytes;
  for (const auto& [kind, range] : beside_nccl.kernel) found->beside_nccl.kernel[kind] = range;
  write();
}

void TuningFile::write() const {
  Json json = {{"format", kFormat}, {"entries", Json::array()}};
  for (const auto& [setup, thresholds, beside_nccl] : entries_) {
    Json entry = {{"device", setup.device},
                  {"ranks", setup.ranks},
                  {"several_processes", setup.several_processes},
                  {"dma_from", to_json(thresholds.all())}};
    const auto& [copies, packets, kernel] = beside_nccl;
    if (!copies.all().empty()) entry["dma_from_beside_nccl"] = to_json(copies.all());
    if (!packets.empty()) entry["packets_beside_nccl"] = to_json(packets);
    for (const auto& [kind, range] : kernel) {
      entry["kernel_beside_nccl"][std::string(name(kind))] = {{"above", range.above},
                                                              {"to", range.to}};
    }
    json["entries"].push_back(std::move(entry));
  }
  file_.replace(json.dump(1) + '\n');
}

std::string tuning_text(Machine& machine) {
  if (machine.size() < 2) return "";
  const std::string path = TuningFile::usual_path();
  try {
    const Thresholds found =
        TuningFile(path).thresholds(tuning_setup(machine, machine.size(), false));
    std::string measured;
    for (const auto& [kind, bytes] : found.all()) {
      measured +=
          fmt::format("{}{} {}", measured.empty() ? "" : ", ", name(kind), dma_from_text(bytes));
    }
    const std::string what =
        measured.empty() ? "as built in, nothing measured (duet collective --tune)" : measured;
    return fmt::format("\n  collectives' engine auto: {}; tuning file: {}\n", what,
                       path.empty() ? "none" : path);
  } catch (const UsageError& error) {
    return fmt::format("\n  collectives' engine auto: {}\n", error.what());
  }
}

}  // namespace duet
