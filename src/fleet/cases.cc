#include "fleet/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/units.h"
#include "results/noise.h"
#include "results/writers/axis_columns.h"

namespace duet {
namespace {

// True for names of rates of which more is faster. Stores have other main rates as well.
bool is_speed(const std::string& rate) {
  return ends_with(rate, "_per_s") || ends_with(rate, "flops");
}

// The rate by which a record is compared; "": 1 / seconds.
std::string rate_of(const Record& record) {
  if (record.rates.empty()) return "";
  const auto& [name, value] = record.rates.front();
  return is_speed(name) && value > 0 ? name : "";
}

// "gemm", "copy host_to_device", "collective all_gather", "fabric write".
std::string kind_of(const CaseId& id) {
  for (const char* axis : {"kind", "collective", "operation"}) {
    const std::string word = axis_word(id, axis);
    if (!word.empty()) return id.benchmark + " " + word;
  }
  return id.benchmark;
}

std::string joined(const std::set<std::string>& values) {
  std::string text;
  for (const std::string& one : values) text += (text.empty() ? "" : ", ") + one;
  return text;
}

void add_host(std::map<std::string, std::string>& settings, const HostFacts& host) {
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty() && value != "0") settings[name] = value;
  };
  add("system", host.system);
  add("kernel", host.kernel);
  add("CPU", host.cpu_model);
  add("sockets", std::to_string(host.sockets));
  add("cores", std::to_string(host.cores));
  add("hardware threads", std::to_string(host.threads));
  add("NUMA nodes", std::to_string(host.numa.size()));
  constexpr double kGib = 1 << 30;
  add("memory", fmt::format("{:.0f} GiB", static_cast<double>(host.memory_bytes) / kGib));
}

// Details of all devices of a kind; values that differ among them stand together.
void add_devices(std::map<std::string, std::string>& settings, const MachineFacts& machine) {
  std::map<std::string, std::set<std::string>> values;
  for (const DeviceInfo& device : machine.devices) {
    values[device.kind + " model"].insert(device.model);
    for (const auto& [name, value] : device.details) values[device.kind + " " + name].insert(value);
  }
  for (const MachineLink& link : machine.links) {
    if (link.link.kind.empty()) continue;
    values[machine.devices.front().kind + " links"].insert(
        fmt::format("{} x {}", link.link.count, link.link.kind));
  }
  for (const auto& [name, all] : values) settings[name] = joined(all);
}

void add_telemetry(std::map<std::string, std::string>& settings, const RunFacts& run) {
  std::set<std::string> limits, throttle;
  for (const auto& [device, summary] : run.telemetry) {
    if (summary.watts_limit) limits.insert(fmt::format("{:g} W", *summary.watts_limit));
    throttle.insert(summary.throttle.begin(), summary.throttle.end());
  }
  if (!limits.empty()) settings["power limit"] = joined(limits);
  if (!throttle.empty()) settings["clocks limited at the start by"] = joined(throttle);
}

}  // namespace

std::map<std::string, std::string> settings_of(const Environment& environment) {
  std::map<std::string, std::string> settings;
  for (const MachineFacts& machine : environment.machines) {
    if (!machine.devices.empty()) add_devices(settings, machine);
  }
  if (!environment.run) return settings;
  const RunFacts& run = *environment.run;
  add_host(settings, run.host);
  add_telemetry(settings, run);
  if (!run.revision.empty()) settings["duet"] = run.duet + " " + run.revision;
  for (const auto& [name, version] : run.libraries) settings["library " + name] = version;
  for (const auto& [name, value] : run.variables) settings["variable " + name] = value;
  return settings;
}

FleetFigure FleetCase::figure() const {
  CaseId placeless = id;
  placeless.axes = id.axes.without({"source", "destination"});
  std::string text = fmt::format("{}, {}, {}", id.benchmark, id.engine, case_text(placeless));
  for (const char* end : {"source", "destination"}) {
    const std::string memory = axis_word(id, end);
    if (!memory.empty()) text += ", " + memory;
  }
  return {kind_of(id), std::move(text), rate_of(*record)};
}

FleetRun::FleetRun(const Environment& environment, std::string node)
    : processes_(environment.processes) {
  nodes_.push_back(std::move(node));
  if (environment.run) {
    time_utc_ = environment.run->time_utc;
    const std::vector<std::string>& hosts = environment.run->hosts;
    for (std::size_t i = 1; i < hosts.size(); ++i) {
      const bool own = hosts[i] == hosts[0];
      const bool known = std::find(nodes_.begin(), nodes_.end(), hosts[i]) != nodes_.end();
      if (!own && !known) nodes_.push_back(hosts[i]);
    }
  }
  for (const MachineFacts& machine : environment.machines) {
    const bool one = machine.devices.size() == 1;
    owners_[machine.name] = {&machine, one ? &machine.devices.front() : nullptr};
    for (const DeviceInfo& device : machine.devices) owners_[device.name] = {&machine, &device};
  }
}

const FleetRun::Owner* FleetRun::owner(const std::string& name) const {
  const auto found = owners_.find(name);
  return found == owners_.end() ? nullptr : &found->second;
}

// Over several nodes: a NIC of each, where the messages went over one, else the nodes as a whole.
// On one node: the devices that a copy names, the one device, or the node as a whole.
std::vector<NamedUnit> FleetRun::units_of(const Record& record) const {
  std::vector<NamedUnit> units;
  if (nodes_.size() > 1) {
    const std::string rails = record.notes.value("rails");
    const bool one_rail = rails.find(',') == std::string::npos;
    // Without its address, which is process 0's.
    const std::string nic = one_rail ? rails.substr(0, rails.find(" (")) : "";
    for (const std::string& node : nodes_) units.push_back({node, nic});
    return units;
  }
  const std::string& node = nodes_.front();
  if (processes_ > 1) return {{node, ""}};
  for (const char* end : {"source", "destination"}) {
    const std::string name = axis_word(record.id, end);
    const Owner* found = name.empty() ? nullptr : owner(name);
    if (found == nullptr || found->device == nullptr) continue;
    const std::string& device = found->device->name;
    if (units.empty() || units.front().unit != device) units.push_back({node, device});
  }
  if (!units.empty()) return units;
  const Owner* found = owner(record.id.device);
  const bool one = found != nullptr && found->device != nullptr;
  return {{node, one ? found->device->name : ""}};
}

std::optional<FleetCase> FleetRun::case_of(const Record& record) const {
  if (record.outcome != Outcome::measured) return std::nullopt;
  FleetCase one;
  const std::string rate = rate_of(record);
  const double seconds = record.seconds.median;
  if (rate.empty() && !(seconds > 0)) return std::nullopt;
  one.value = rate.empty() ? -std::log(seconds) : std::log(record.rates.front().second);
  if (!std::isfinite(one.value)) return std::nullopt;
  one.record = &record;
  one.time_utc = time_utc_;
  one.units = units_of(record);
  one.id = record.id;
  const Owner* where = owner(record.id.device);
  std::string kind;
  UsualNoise usual = usual_noise("", false);
  if (where != nullptr && !where->machine->devices.empty()) {
    const DeviceInfo& device =
        where->device != nullptr ? *where->device : where->machine->devices.front();
    kind = device.kind;
    one.model = device.model;
    usual = usual_noise(kind, where->machine->virtual_time);
    one.id.device = kind;
  }
  one.usual = seconds > 0 ? std::hypot(usual.share, usual.seconds / seconds) : usual.share;
  if (seconds > 0 && record.seconds.n > 0) one.deviation = deviation_of_median(record.seconds);
  if (kind == "host" && usual.share > 0 && record.load) {
    const double load = record.load->others.value_or(0) + record.load->steal.value_or(0);
    one.deviation = std::hypot(one.deviation, slowdown(load));
  }
  std::vector<std::string> devices;
  for (const char* end : {"source", "destination"}) {
    if (owner(axis_word(one.id, end)) != nullptr) devices.emplace_back(end);
  }
  one.id.axes = one.id.axes.without(devices);
  one.key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", one.id.benchmark, one.id.device,
                        one.model, one.id.engine, one.id.axes.key(), record.mode, record.flushed,
                        rate, processes_, nodes_.size());
  return one;
}

}  // namespace duet
