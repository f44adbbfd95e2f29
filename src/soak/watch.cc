#include "soak/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/names.h"

namespace duet {
namespace {

constexpr std::uint64_t kInjectedXid = 79;  // the GPU has fallen off the bus
constexpr const char* kInjectedCounter = "pcie_replays";

HealthSource* health_source(Device& device) { return dynamic_cast<HealthSource*>(&device); }

DeviceHealth health_now(Device& device) {
  HealthSource* source = health_source(device);
  return source != nullptr ? source->health().value_or(DeviceHealth{}) : DeviceHealth{};
}

}  // namespace

const std::vector<SoakCounter>& soak_counters() {
  static const std::vector<SoakCounter> all = {
      {"uncorrected_errors", "uncorrected memory errors", &DeviceHealth::uncorrected_errors},
      {"corrected_errors", "corrected memory errors", &DeviceHealth::corrected_errors},
      {"pcie_replays", "PCIe replays", &DeviceHealth::pcie_replays},
      {"link_errors", "NVLink packets with a wrong checksum", &DeviceHealth::link_errors},
      {"link_replays", "NVLink replays", &DeviceHealth::link_replays},
      {"link_recoveries", "NVLink recoveries", &DeviceHealth::link_recoveries}};
  return all;
}

SoakAllowances parse_soak_allowances(const std::string& list) {
  SoakAllowances allowed;
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view one = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::size_t equals = std::min(one.find('='), one.size());
    const std::string name(one.substr(0, equals));
    const std::string_view number = one.substr(std::min(equals + 1, one.size()));
    std::vector<std::string_view> known;
    for (const SoakCounter& each : soak_counters()) known.push_back(each.name);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw_unknown_name("--allow", name, known);
    }
    const char* const end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, allowed[name]);
    if (number.empty() || error != std::errc() || stop != end) {
      throw UsageError(fmt::format("--allow {}: expected COUNTER=COUNT", one));
    }
  }
  return allowed;
}

SoakWatch::SoakWatch(Machine& machine, const SoakAllowances& allowed, const Injections& injections)
    : machine_(machine), allowed_(allowed), injections_(injections) {
  for (int i = 0; i < machine.size(); ++i) {
    Device& device = machine.device(i);
    states_.push_back({health_now(device), {}, {}, {}});
    if (HealthSource* source = health_source(device)) source->new_xids();
  }
  devices_.resize(states_.size());
}

void SoakWatch::sample(double period) {
  const double now = machine_.now();
  if (last_ > 0 && now - last_ < period) return;
  last_ = now;
  read_sensors();
}

void SoakWatch::read_sensors() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const auto reading = machine_.device(static_cast<int>(i)).telemetry();
    if (reading) states_[i].readings.push_back(*reading);
  }
}

std::vector<SoakFinding> SoakWatch::end_round(int round) {
  std::vector<SoakFinding> findings;
  for (int i = 0; i < machine_.size(); ++i) {
    State& state = states_[static_cast<std::size_t>(i)];
    if (injections_.has(InjectedFault::counter, round, i)) ++state.injected[kInjectedCounter];
    devices_[static_cast<std::size_t>(i)].readings = std::move(state.readings);
    state.readings.clear();
    add_counters(i, findings);
    add_xids(i, round, findings);
  }
  return findings;
}

void SoakWatch::add_counters(int index, std::vector<SoakFinding>& findings) {
  Device& device = machine_.device(index);
  State& state = states_[static_cast<std::size_t>(index)];
  const DeviceHealth now = health_now(device);
  for (const SoakCounter& counter : soak_counters()) {
    const auto first = state.first.*counter.value, last = now.*counter.value;
    const auto injected = state.injected.find(counter.name);
    const bool planted = injected != state.injected.end();
    if (!(first && last) && !planted) continue;
    // A counter that a driver sets back has not grown.
    std::uint64_t growth = first && last && *last > *first ? *last - *first : 0;
    if (planted) growth += injected->second;
    devices_[static_cast<std::size_t>(index)].grown[counter.name] = growth;
    const auto allowed = allowed_.find(counter.name);
    const std::uint64_t limit = allowed != allowed_.end() ? allowed->second : 0;
    std::uint64_t& told = state.told[counter.name];
    if (growth <= std::max(told, limit)) continue;
    findings.push_back(
        {SoakFault::counter, device.info().name,
         fmt::format(
             "{} {} more{}", growth - told, counter.words,
             limit > 0 ? fmt::format(", {} since the begin, {} are allowed", growth, limit) : "")});
    told = growth;
  }
}

void SoakWatch::add_xids(int index, int round, std::vector<SoakFinding>& findings) {
  Device& device = machine_.device(index);
  HealthSource* source = health_source(device);
  std::vector<std::uint64_t> xids;
  if (source != nullptr) xids = source->new_xids();
  if (injections_.has(InjectedFault::xid, round, index)) xids.push_back(kInjectedXid);
  for (const std::uint64_t xid : xids) {
    findings.push_back(
        {SoakFault::xid, device.info().name, fmt::format("the driver reported XID {}", xid)});
  }
}

}  // namespace duet
