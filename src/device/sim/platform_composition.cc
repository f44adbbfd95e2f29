#include "device/sim/platform_composition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "core/device_spec_texts.h"
#include "core/error.h"
#include "core/names.h"
#include "core/toml_table.h"
#include "core/units.h"

namespace duet::sim {
namespace {

constexpr const char* kDevicesHere = "{devices}";  // in descriptions: the number of devices

// A table of a TOML file as lines. The first table of a file has no heading.
struct TableText {
  std::string heading;               // "[device.gemm]  # comment"
  std::vector<std::string> comment;  // the lines before the heading
  std::vector<std::string> lines;

  bool repeats() const { return heading.compare(0, 2, "[[") == 0; }
  std::string name() const {  // "device.gemm"
    const std::size_t begin = std::min(heading.find_first_not_of('['), heading.size());
    return heading.substr(begin, heading.find(']') - begin);
  }
};

std::string key_of(const std::string& line) {
  if (line.empty() || line.front() == '#') return "";
  const std::size_t equals = line.find('=');
  return equals == std::string::npos ? "" : trim(line.substr(0, equals));
}

std::vector<TableText> tables_of(std::string_view toml) {
  std::vector<TableText> tables(1);
  std::istringstream text{std::string(toml)};
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line.front() != '[') {
      tables.back().lines.push_back(line);
      continue;
    }
    TableText table{line, {}, {}};
    std::vector<std::string>& before = tables.back().lines;
    while (!before.empty() && !before.back().empty() && before.back().front() == '#') {
      table.comment.insert(table.comment.begin(), before.back());
      before.pop_back();
    }
    tables.push_back(std::move(table));
  }
  for (TableText& table : tables) {
    while (!table.lines.empty() && table.lines.back().empty()) table.lines.pop_back();
  }
  return tables;
}

std::string text_of(const std::vector<TableText>& tables) {
  std::string text;
  for (const TableText& table : tables) {
    if (!table.heading.empty()) text += "\n";
    for (const std::string& line : table.comment) text += line + "\n";
    if (!table.heading.empty()) text += table.heading + "\n";
    for (const std::string& line : table.lines) text += line + "\n";
  }
  return text;
}

TableText& table_named(std::vector<TableText>& tables, const std::string& name) {
  const auto same = [&](const TableText& table) { return table.name() == name; };
  const auto found = std::find_if(tables.begin(), tables.end(), same);
  if (found != tables.end()) return *found;
  tables.push_back({"[" + name + "]", {}, {}});
  return tables.back();
}

bool has_key(const TableText& table, const std::string& key) {
  return std::any_of(table.lines.begin(), table.lines.end(),
                     [&](const std::string& line) { return key_of(line) == key; });
}

// Builds the tables of a platform from those of a device spec.
class SpecFigures {
 public:
  explicit SpecFigures(std::string_view spec)
      : text_(spec), spec_(TomlTable::parse("specs/devices", spec)) {
    for (const TableText& table : tables_of(text_)) add(table);
    add_model();
    add_link();
  }

  std::vector<TableText> tables() && { return std::move(tables_); }

 private:
  void add(const TableText& from) {
    const std::string name = from.name();
    if (name.empty()) {
      tables_.push_back({"", {}, opening_comment(from)});
      copy_line(from, "compute_units", "device", "compute_units");
    } else if (name == "memory") {
      copy_line(from, "gib", "device", "memory_gib");
      copy_line(from, "gb_per_s", "device", "memory_gb_per_s");
      copy_line(from, "cache_mib", "device", "cache_mib");
    } else if (name == "compute.tflops") {
      add_peaks(from);
    } else if (name == "simulation" || name.compare(0, 11, "simulation.") == 0) {
      add_simulation(from);
    }
  }

  static std::vector<std::string> opening_comment(const TableText& first) {
    const auto is_comment = [](const std::string& line) {
      return !line.empty() && line.front() == '#';
    };
    return {first.lines.begin(),
            std::find_if_not(first.lines.begin(), first.lines.end(), is_comment)};
  }

  void copy_line(const TableText& from, const std::string& key, const std::string& table,
                 const std::string& new_key) {
    for (const std::string& line : from.lines) {
      if (key_of(line) == key) {
        table_named(tables_, table).lines.push_back(new_key + line.substr(key.size()));
      }
    }
  }

  // Copies the peaks of the types for which the simulation has an efficiency.
  void add_peaks(const TableText& from) {
    TableText& peaks = table_named(tables_, "device.peak_tflops");
    peaks.comment = from.comment;
    for (const std::string& line : from.lines) {
      const bool simulated = spec_["simulation"]["gemm"]["efficiency"][key_of(line)].is_number();
      if (simulated) peaks.lines.push_back(line);
    }
  }

  void add_simulation(const TableText& from) {
    const std::string within = from.name().substr(std::min(from.name().size(), std::size_t{11}));
    const bool of_platform = within == "link" || within.compare(0, 7, "library") == 0;
    const std::string name = of_platform ? within : within.empty() ? "device" : "device." + within;
    if (from.repeats()) {
      tables_.push_back({"[[" + name + "]]", from.comment, from.lines});
      return;
    }
    TableText& to = table_named(tables_, name);
    to.comment.insert(to.comment.end(), from.comment.begin(), from.comment.end());
    to.lines.insert(to.lines.end(), from.lines.begin(), from.lines.end());
  }

  void add_model() {
    const auto model = spec_["models"][0].value<std::string>();
    table_named(tables_, "device")
        .lines.push_back(fmt::format("model = \"{}\"", model.value_or("")));
  }

  // A device spec states the count and rate of all links of a device together. A platform states
  // those of one pair of devices in a mesh, where each link goes to another peer, or those of a
  // device's port into a switch.
  void add_link() {
    const auto link = spec_["link"];
    const std::string topology = link["topology"].value<std::string>().value_or("");
    const int count = link["count"].value<int>().value_or(1);
    const double rate = link["gb_per_s"].value<double>().value_or(0);
    const bool mesh = topology == "mesh";
    std::vector<std::string>& lines = table_named(tables_, "link").lines;
    lines.push_back(fmt::format("topology = \"{}\"", topology));
    lines.push_back(fmt::format("kind = \"{}\"", link["kind"].value<std::string>().value_or("")));
    lines.push_back(fmt::format("count = {}  # the device spec's, to one peer or into the switch",
                                mesh ? 1 : count));
    lines.push_back(fmt::format("raw_gb_per_s = {}  # the device spec's, likewise",
                                mesh ? rate / count : rate));
  }

  std::string text_;
  toml::table spec_;
  std::vector<TableText> tables_;
};

std::vector<TableText> spec_tables(const std::string& file, const toml::node& named) {
  const std::string name = named.value<std::string>().value_or("");
  const auto& texts = device_spec_texts();
  std::vector<std::string> simulated;
  for (const auto& [each, text] : texts) {
    if (text.find("\n[simulation]") != std::string_view::npos) simulated.push_back(each);
  }
  if (std::find(simulated.begin(), simulated.end(), name) == simulated.end()) {
    throw UsageError(
        fmt::format("{}:{}: 'device_spec' is '{}'{}: expected one with figures of a simulation: {}",
                    file, named.source().begin.line, name, did_you_mean(name, simulated),
                    fmt::join(simulated, ", ")));
  }
  return SpecFigures(texts.at(name)).tables();
}

void add_missing(toml::table& to, toml::table&& from) {
  for (auto&& [key, value] : from) {
    toml::node* there = to.get(key);
    if (there == nullptr) {
      to.insert(key, std::move(value));
    } else if (there->is_table() && value.is_table()) {
      add_missing(*there->as_table(), std::move(*value.as_table()));
    }
  }
}

void set_devices(TableText& root, int devices) {
  const std::string number = std::to_string(devices);
  for (std::string& line : root.lines) {
    const std::size_t here = line.find(kDevicesHere);
    const std::string key = key_of(line);
    if (key == "devices") line = "devices = " + number + "  # of a node";
    if (key == "description" && here != std::string::npos) {
      line.replace(here, std::string_view(kDevicesHere).size(), number);
    }
  }
  const auto ends = std::remove_if(root.lines.begin(), root.lines.end(), [](const auto& line) {
    return key_of(line) == "device_spec" || key_of(line) == "most_devices";
  });
  root.lines.erase(ends, root.lines.end());
}

}  // namespace

toml::table completed(const std::string& file, toml::table platform) {
  const toml::node* named = platform.get("device_spec");
  if (named == nullptr) return platform;
  const std::string text = text_of(spec_tables(file, *named));
  const std::string origin =
      fmt::format("{} (device spec {})", file, named->value<std::string>().value_or(""));
  add_missing(platform, TomlTable::parse(origin, text));
  return platform;
}

std::string self_contained(const std::string& file, std::string_view toml, int devices) {
  const toml::table parsed = TomlTable::parse(file, toml);
  const toml::node* named = parsed.get("device_spec");
  if (named == nullptr) return std::string(toml);
  std::vector<TableText> tables = tables_of(toml);
  set_devices(tables.front(), devices);
  const auto aliases = [](const TableText& table) { return table.name() == "aliases"; };
  tables.erase(std::remove_if(tables.begin(), tables.end(), aliases), tables.end());
  const std::size_t own = tables.size();
  for (const TableText& from : spec_tables(file, *named)) {
    if (from.heading.empty()) {
      auto& lines = tables.front().lines;
      lines.insert(lines.begin(), "#");
      lines.insert(lines.begin(), from.lines.begin(), from.lines.end());
      continue;
    }
    const auto same = [&](const TableText& table) { return table.name() == from.name(); };
    const auto end = tables.begin() + static_cast<std::ptrdiff_t>(own);
    const auto there = std::find_if(tables.begin(), end, same);
    if (there == end) {
      tables.push_back(from);
    } else if (!from.repeats()) {
      for (const std::string& line : from.lines) {
        if (!has_key(*there, key_of(line))) there->lines.push_back(line);
      }
    }
  }
  return text_of(tables);
}

}  // namespace duet::sim
