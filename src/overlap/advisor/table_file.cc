// Tables as JSON: {"format": 1, "tables": [...]}. The keys are the member names in device_table.h.
#include "overlap/advisor/table_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/range.h"

namespace duet {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

Json to_json(const std::vector<UnitFactor>& factors) {
  Json json = Json::array();
  for (const UnitFactor& each : factors) json.push_back({each.units, each.factor});
  return json;
}

Json to_json(const GemmEntry& entry) {
  return {
      {"gemm", name(entry.problem)}, {"seconds", entry.seconds}, {"taken", to_json(entry.taken)}};
}

Json to_json(const CollectiveEntry& entry) {
  Json times = Json::array();
  for (const SizeTime& each : entry.times) times.push_back({each.bytes, each.seconds});
  return {{"collective", name(entry.collective)},
          {"engine", entry.engine},
          {"times", times},
          {"granted_bytes", entry.granted_bytes},
          {"granted", to_json(entry.granted)}};
}

Json to_json(const BesideEntry& entry) {
  return {{"policy", name(entry.policy)},
          {"engine", entry.engine},
          {"gemm", name(entry.compute)},
          {"collective", name(entry.collective)},
          {"bytes", entry.bytes},
          {"compute_alone", entry.compute_alone},
          {"engine_alone", entry.engine_alone},
          {"together", entry.together},
          {"compute_slowdown", entry.compute_slowdown},
          {"communication_slowdown", entry.communication_slowdown}};
}

Json to_json(const DeviceTable& table);

template <class Entry>
Json list(const std::vector<Entry>& entries) {
  Json json = Json::array();
  for (const Entry& each : entries) json.push_back(to_json(each));
  return json;
}

Json to_json(const DeviceTable& table) {
  return {{"device", table.device},
          {"model", table.model},
          {"ranks", table.ranks},
          {"compute_units", table.compute_units},
          {"vendor", table.vendor},
          {"gemms", list(table.gemms)},
          {"collectives", list(table.collectives)},
          {"besides", list(table.besides)}};
}

double inside(const Json& value, const std::string& what, const Range& range) {
  if (value.is_number() && range.has(value.get<double>())) return value.get<double>();
  throw Error(fmt::format("{} is {}: expected {}", what, value.dump(), range.text()));
}

constexpr Range kSeconds{1e-9, 1e6, "s"};
constexpr Range kFactor{1e-3, 1e6, ""};

double seconds(const Json& json, const char* key) {
  return inside(json.at(key), fmt::format("\"{}\"", key), kSeconds);
}

double factor(const Json& json, const char* key) {
  return inside(json.at(key), fmt::format("\"{}\"", key), kFactor);
}

// Converts to an integer and checks the range. The JSON library's own conversion would silently
// accept a sign or a fraction.
template <class Whole>
Whole whole(const Json& value, std::uint64_t least, std::uint64_t most) {
  const bool is_whole = value.is_number_unsigned() && value.get<std::uint64_t>() >= least &&
                        value.get<std::uint64_t>() <= most;
  if (is_whole) return value.get<Whole>();
  throw Error(fmt::format("{} is no whole number from {} to {}", value.dump(), least, most));
}

constexpr std::uint64_t kMostUnits = 1000000;
constexpr std::uint64_t kMostTableBytes = std::uint64_t{1} << 60;

int units(const Json& value) { return whole<int>(value, 0, kMostUnits); }
std::uint64_t bytes(const Json& value) { return whole<std::uint64_t>(value, 0, kMostTableBytes); }

std::vector<UnitFactor> factors(const Json& json) {
  std::vector<UnitFactor> all;
  for (const Json& each : json)
    all.push_back({units(each.at(0)), inside(each.at(1), "a slowdown", kFactor)});
  const auto rising = [](const UnitFactor& a, const UnitFactor& b) { return a.units >= b.units; };
  if (std::adjacent_find(all.begin(), all.end(), rising) == all.end()) return all;
  throw Error("units do not rise");
}

GemmEntry gemm(const Json& json) {
  return {parse_problem(json.at("gemm")), seconds(json, "seconds"), factors(json.at("taken"))};
}

CollectiveEntry collective(const Json& json) {
  CollectiveEntry entry;
  entry.collective = parse_collective(json.at("collective").get<std::string>());
  entry.engine = json.at("engine");
  for (const Json& each : json.at("times")) {
    entry.times.push_back({bytes(each.at(0)), inside(each.at(1), "a time", kSeconds)});
    const auto count = entry.times.size();
    if (count > 1 && entry.times[count - 2].bytes >= entry.times[count - 1].bytes) {
      throw Error("sizes do not rise");
    }
  }
  entry.granted_bytes = bytes(json.at("granted_bytes"));
  entry.granted = factors(json.at("granted"));
  return entry;
}

BesideEntry beside(const Json& json) {
  const auto policies = parse_policies(json.at("policy").get<std::string>());
  if (policies.size() != 1) throw Error("\"policy\" is not one policy");
  BesideEntry entry;
  entry.policy = policies.front();
  entry.engine = json.at("engine");
  entry.compute = parse_problem(json.at("gemm"));
  entry.collective = parse_collective(json.at("collective").get<std::string>());
  entry.bytes = bytes(json.at("bytes"));
  entry.compute_alone = seconds(json, "compute_alone");
  entry.engine_alone = seconds(json, "engine_alone");
  entry.together = seconds(json, "together");
  entry.compute_slowdown = factor(json, "compute_slowdown");
  entry.communication_slowdown = factor(json, "communication_slowdown");
  return entry;
}

DeviceTable table_of(const Json& json) {
  DeviceTable table;
  table.device = json.at("device");
  table.model = json.at("model");
  table.ranks = whole<int>(json.at("ranks"), 1, kMostUnits);
  table.compute_units = units(json.at("compute_units"));
  table.vendor = json.at("vendor");
  for (const Json& each : json.at("gemms")) table.gemms.push_back(gemm(each));
  for (const Json& each : json.at("collectives")) table.collectives.push_back(collective(each));
  for (const Json& each : json.at("besides")) table.besides.push_back(beside(each));
  return table;
}

[[noreturn]] void refuse(const std::string& source, const std::string& why) {
  throw UsageError(
      fmt::format("{}: expected tables as duet advise --measure writes them: {}", source, why));
}

std::vector<DeviceTable> read_tables(const StoredFile& file) {
  const auto text = file.read();
  if (!text) return {};
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || !json.contains("format") || json["format"] != kFormat) {
    refuse(file.source(), fmt::format("\"format\": {}", kFormat));
  }
  std::vector<DeviceTable> tables;
  try {
    for (const Json& each : json.at("tables")) tables.push_back(table_of(each));
  } catch (const Json::exception& error) {
    // The readable part of "[json.exception.out_of_range.403] key 'seconds' not found" begins after
    // the bracket.
    const std::string words = error.what();
    const std::size_t end = words.find("] ");
    refuse(file.source(), fmt::format("table {}: {}", tables.size() + 1,
                                      end == std::string::npos ? words : words.substr(end + 2)));
  } catch (const Error& error) {
    refuse(file.source(), fmt::format("table {}: {}", tables.size() + 1, error.what()));
  }
  return tables;
}

}  // namespace

std::string TableFile::usual_path() { return StoredFile::usual_path("DUET_ADVICE", "advice.json"); }

TableFile::TableFile(const std::string& path)
    : file_(path, "table file", "DUET_ADVICE"), tables_(read_tables(file_)) {}

const DeviceTable* TableFile::find(const std::string& device, int ranks) const {
  const auto found = std::find_if(tables_.begin(), tables_.end(), [&](const DeviceTable& each) {
    return each.device == device && each.ranks == ranks;
  });
  return found == tables_.end() ? nullptr : &*found;
}

std::string tables_text(const std::vector<DeviceTable>& tables) {
  const Json json = {{"format", kFormat}, {"tables", list(tables)}};
  return json.dump(1) + '\n';
}

void TableFile::store(const DeviceTable& table) {
  tables_ = read_tables(file_);
  const auto same = [&](const DeviceTable& each) {
    return each.device == table.device && each.ranks == table.ranks;
  };
  tables_.erase(std::remove_if(tables_.begin(), tables_.end(), same), tables_.end());
  tables_.push_back(table);
  file_.replace(tables_text(tables_));
}

}  // namespace duet
