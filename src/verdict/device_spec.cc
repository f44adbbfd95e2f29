#include "verdict/device_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/device_spec_texts.h"
#include "core/range.h"
#include "core/toml_table.h"
#include "core/units.h"

namespace duet {
namespace {

// Ranges that the figures of a file must be in.
constexpr Range kCacheMib{0.01, 1e6, "MiB"};
constexpr Range kFromBytes{0, 1e15, "bytes"};
constexpr Range kSpread{1, 10, ""}, kLineGbPerS{1e-4, 1e6, "GB/s"};
constexpr int kMostRanks = 1000000;
constexpr double kMiB = 1 << 20;

LinkSpec read_link(TomlTable table) {
  LinkSpec link;
  link.kind = table.text("kind");
  link.mesh = table.word("topology", {"switch", "mesh"}) == "mesh";
  link.count = table.count("count", 1, kMostLinks);
  link.gb_per_s = table.number("gb_per_s", kGbPerSRange);
  table.finish();
  return link;
}

CopyRule read_rule(TomlTable table) {
  CopyRule rule;
  const auto word = [&](const char* key, const std::vector<std::string>& allowed) {
    return table.has(key) ? std::optional(table.word(key, allowed)) : std::nullopt;
  };
  rule.kind = word("kind", {"peer", "local", "host_to_device", "device_to_host"});
  rule.executor = word("executor", {"dma", "kernel", "host"});
  rule.issue = word("issue", {"push", "pull"});
  rule.pattern = word("pattern", {"pair", "all_pairs"});
  rule.memory = word("memory", {"pinned", "pageable"});
  if (table.has("bidirectional")) rule.bidirectional = table.truth("bidirectional");
  rule.efficiency = table.number("efficiency", kShareRange);
  if (table.has("latency_us")) rule.latency_us = table.number("latency_us", kMicrosecondsRange);
  if (table.has("from_bytes")) rule.from_bytes = table.bytes("from_bytes", 1, kFromBytes);
  table.finish();
  return rule;
}

CollectiveLine read_line(TomlTable table) {
  CollectiveLine line;
  line.collective = table.text("collective");
  line.engine = table.text("engine");
  if (table.has("most_ranks")) line.most_ranks = table.count("most_ranks", 2, kMostRanks);
  if (table.has("in_place")) line.in_place = table.truth("in_place");
  if (table.has("in_a_row")) line.in_a_row = table.truth("in_a_row");
  line.spread = table.number("spread", kSpread);
  line.bus_bytes = table.numbers("bus_bytes", kFromBytes);
  line.gb_per_s = table.numbers("gb_per_s", kLineGbPerS);
  const auto& sizes = line.bus_bytes;
  if (std::adjacent_find(sizes.begin(), sizes.end(), std::greater_equal<>()) != sizes.end()) {
    table.fail("bus_bytes", "rising sizes");
  }
  if (line.gb_per_s.size() != sizes.size()) {
    table.fail("gb_per_s", fmt::format("{} rates, as many as bus_bytes", sizes.size()));
  }
  table.finish();
  return line;
}

std::vector<CollectiveLine> read_healthy(TomlTable table) {
  std::vector<CollectiveLine> lines;
  for (const TomlTable& line : table.tables("collective")) lines.push_back(read_line(line));
  table.finish();
  return lines;
}

SimulatedBasis read_basis(TomlTable table) {
  SimulatedBasis basis;
  basis.works = table.texts("works");
  basis.fitted_to = table.text("fitted_to");
  if (table.has("compared_with")) basis.compared_with = table.text("compared_with");
  table.finish();
  return basis;
}

void read_compute(DeviceSpec& spec, TomlTable table) {
  spec.tflops = table.table("tflops").by_dtype(kTflopsRange, 1);
  if (table.has("efficiency")) {
    spec.efficiency = table.table("efficiency").by_dtype(kShareRange, 1);
  }
  table.finish();
}

void read_memory(DeviceSpec& spec, TomlTable table) {
  table.bytes("gib", kMiB * 1024, kMemoryGibRange);
  spec.memory_gb_per_s = table.number("gb_per_s", kGbPerSRange);
  if (table.has("cache_mib")) spec.cache_bytes = table.bytes("cache_mib", kMiB, kCacheMib);
  table.finish();
}

void read_host_link(DeviceSpec& spec, TomlTable table) {
  spec.host_link = table.text("kind");
  spec.host_link_gb_per_s = table.number("gb_per_s", kGbPerSRange);
  table.finish();
}

double read_power(TomlTable table) {
  const double watts = table.number("watts", kWattsRange);
  table.finish();
  return watts;
}

// Verdicts use nothing else of a simulation, and its keys are checked where it is made.
void read_simulation(DeviceSpec& spec, TomlTable table) {
  if (!table.has("power")) return;
  TomlTable power = table.table("power");
  if (power.has("watts")) spec.watts_above_idle = power.number("watts", kWattsRange);
  if (power.has("dma_joules_per_gb"))
    spec.dma_joules_per_gb = power.number("dma_joules_per_gb", kJoulesPerGb);
}

// The comment that opens a file, from "Sources:" on, as one text.
std::string opening_sources(std::string_view text) {
  constexpr std::string_view kBegin = "Sources: ";
  std::string comment;
  while (!text.empty() && text.front() == '#') {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line = trim(text.substr(1, end - 1));
    comment += (comment.empty() || line.empty() ? "" : " ") + line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const std::size_t begin = comment.find(kBegin);
  return begin == std::string::npos ? "" : comment.substr(begin + kBegin.size());
}

}  // namespace

std::optional<double> CollectiveLine::at(double bytes) const {
  if (bus_bytes.empty() || bytes < bus_bytes.front()) return std::nullopt;
  if (bytes >= bus_bytes.back()) return gb_per_s.back();
  const auto next = std::upper_bound(bus_bytes.begin(), bus_bytes.end(), bytes) - bus_bytes.begin();
  const auto right = static_cast<std::size_t>(next), left = right - 1;
  const double share =
      std::log(bytes / bus_bytes[left]) / std::log(bus_bytes[right] / bus_bytes[left]);
  return gb_per_s[left] * std::pow(gb_per_s[right] / gb_per_s[left], share);
}

DeviceSpec parse_device_spec(const std::string& file, std::string_view text) {
  const toml::table parsed = TomlTable::parse(file, text);
  TomlTable table(file, "", parsed);
  DeviceSpec spec;
  spec.file = file;
  spec.sources = opening_sources(text);
  spec.name = table.text("name");
  spec.models = table.texts("models");
  spec.compute_units = table.count("compute_units", 1, kMostUnits);
  read_compute(spec, table.table("compute"));
  read_memory(spec, table.table("memory"));
  if (table.has("link")) spec.link = read_link(table.table("link"));
  read_host_link(spec, table.table("host_link"));
  spec.watts = read_power(table.table("power"));
  for (const TomlTable& rule : table.tables("copy")) spec.copies.push_back(read_rule(rule));
  if (table.has("healthy")) spec.collectives = read_healthy(table.table("healthy"));
  for (const TomlTable& basis : table.tables("simulated")) {
    spec.simulated.push_back(read_basis(basis));
  }
  if (table.has("simulation")) read_simulation(spec, table.table("simulation"));
  table.finish();
  return spec;
}

const std::vector<DeviceSpec>& device_specs() {
  static const std::vector<DeviceSpec> all = [] {
    std::vector<DeviceSpec> list;
    for (const auto& [name, text] : device_spec_texts())
      list.push_back(parse_device_spec(name, text));
    return list;
  }();
  return all;
}

const DeviceSpec* find_device_spec(const std::string& model) {
  for (const DeviceSpec& spec : device_specs()) {
    const auto& models = spec.models;
    if (std::find(models.begin(), models.end(), model) != models.end()) return &spec;
  }
  return nullptr;
}

const CopyRule* find_copy_rule(const DeviceSpec& spec, const CopyRule& copy) {
  const auto same = [](const auto& wanted, const auto& given) {
    return !wanted || wanted == given;
  };
  for (const CopyRule& rule : spec.copies) {
    if (same(rule.kind, copy.kind) && same(rule.executor, copy.executor) &&
        same(rule.issue, copy.issue) && same(rule.pattern, copy.pattern) &&
        same(rule.memory, copy.memory) && same(rule.bidirectional, copy.bidirectional)) {
      return &rule;
    }
  }
  return nullptr;
}

const SimulatedBasis* simulated_basis(const std::string& model, const std::string& benchmark) {
  const DeviceSpec* spec = find_device_spec(model);
  if (spec == nullptr) return nullptr;
  const SimulatedBasis* family = nullptr;
  for (const SimulatedBasis& basis : spec->simulated) {
    for (const std::string& work : basis.works) {
      if (benchmark == work) return &basis;
      if (benchmark.rfind(work + "_", 0) == 0) family = &basis;
    }
  }
  return family;
}

}  // namespace duet
