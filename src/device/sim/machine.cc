#include "device/sim/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "device/sim/sim.h"
#include "device/sim/stream.h"

namespace duet::sim {
namespace {

constexpr std::size_t kBlockedShown = 8;  // streams that a message names

DeviceInfo describe(const Platform& platform, int index) {
  const DeviceModel& model = platform.device;
  DeviceInfo info;
  info.name = fmt::format("sim:{}:{}", platform.name, index);
  info.kind = "sim";
  info.model = model.model;
  info.compute_units = model.compute_units;
  info.memory_bytes = model.memory_bytes;
  info.cache_bytes = model.cache_bytes;
  info.copy_engines = model.dma.engines;
  info.priorities = model.priorities;
  info.unit_grain = model.unit_grain;
  info.details["platform"] = platform.description;
  info.details["memory"] = fmt::format("{:.0f} GB/s, of which {:.0f}% arrives",
                                       model.memory_rate / 1e9, 100 * model.memory_efficiency);
  for (const auto& [type, peak] : model.peak) {
    info.details[fmt::format("peak {}", duet::name(type))] =
        fmt::format("{:.1f} TFLOP/s", peak / 1e12);
  }
  return info;
}

// The machine's name in the form of --device.
std::string machine_name(const Platform& platform) {
  std::string name = "sim:" + platform.name;
  if (platform.nodes > 1) name += fmt::format(":nodes={}", platform.nodes);
  if (platform.network.use == RailUse::round_robin) name += ":rails=round-robin";
  return name;
}

}  // namespace

SimMachine::SimMachine(Platform platform)
    : platform_(std::move(platform)),
      name_(machine_name(platform_)),
      scheduler_(clock_, [this] { return blocked(); }),
      costs_(platform_, clock_),
      devices_([this] {
        std::vector<std::unique_ptr<SimDevice>> devices;
        for (int i = 0; i < platform_.devices; ++i) {
          devices.push_back(std::make_unique<SimDevice>(*this, describe(platform_, i), i));
        }
        return devices;
      }()),
      memory_(raw_devices(), platform_.host.memory_bytes) {}

std::vector<Device*> SimMachine::raw_devices() const {
  std::vector<Device*> devices;
  for (const auto& device : devices_) devices.push_back(device.get());
  return devices;
}

Link SimMachine::link(int from, int to) const {
  if (from == to) return {"memory", 1, platform_.device.memory_rate / 1e9, true};
  if (!costs_.same_node(from, to)) {
    const NetworkModel& network = platform_.network;
    return {network.kind, network.rails, network.rails * network.rail_rate / 1e9, true, true, true};
  }
  return {platform_.link.kind, platform_.link.count, platform_.link.raw_rate / 1e9, true,
          platform_.link.topology != Topology::mesh};
}

int SimMachine::add(SimStream* stream) {
  streams_[++last_stream_] = stream;
  return last_stream_;
}

void SimMachine::remove(SimStream* stream) {
  streams_.erase(stream->number());
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    it = it->second == stream ? waiting_.erase(it) : std::next(it);
  }
}

void SimMachine::wait_for(const Semaphore& semaphore, SimStream* stream) {
  waiting_.emplace(reinterpret_cast<std::uintptr_t>(semaphore.word.data), stream);
}

void SimMachine::memory_written(const Span& span) {
  if (waiting_.empty() || span.data == nullptr) return;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(span.data);
  // A word that begins up to 7 bytes before the span may reach into it.
  auto it = waiting_.lower_bound(begin - (sizeof(std::uint64_t) - 1));
  std::vector<SimStream*> streams;
  for (; it != waiting_.end() && it->first < begin + span.bytes; ++it)
    streams.push_back(it->second);
  resume(std::move(streams));
}

void SimMachine::any_memory_written() {
  std::vector<SimStream*> streams;
  for (const auto& [address, stream] : waiting_) streams.push_back(stream);
  resume(std::move(streams));
}

// Resumes streams in the order of their numbers, because addresses differ from run to run.
void SimMachine::resume(std::vector<SimStream*> streams) {
  std::sort(streams.begin(), streams.end(),
            [](const SimStream* a, const SimStream* b) { return a->number() < b->number(); });
  for (SimStream* stream : streams) {
    if (!stream->semaphore_reached()) continue;
    const auto is_it = [&](const auto& entry) { return entry.second == stream; };
    waiting_.erase(std::find_if(waiting_.begin(), waiting_.end(), is_it));
    stream->resume_after_semaphore();
  }
}

std::string SimMachine::blocked() const {
  std::string text;
  std::size_t count = 0;
  for (const auto& [number, stream] : streams_) {
    const std::string waits = stream->blocked();
    if (waits.empty() || ++count > kBlockedShown) continue;
    text += fmt::format("; {} waits for {}", stream->name(), waits);
  }
  if (count > kBlockedShown) text += fmt::format("; and {} more", count - kBlockedShown);
  return text;
}

namespace {

struct PlatformOption {
  std::string key, value;
};

int read_number(const PlatformOption& option, int most, const std::string& argument) {
  int number = 0;
  const char* end = option.value.data() + option.value.size();
  const auto [last, error] = std::from_chars(option.value.data(), end, number);
  if (error != std::errc() || last != end || number < 1 || number > most) {
    throw UsageError(fmt::format("--device sim:{}: expected {} from 1 to {}, not '{}'", argument,
                                 option.key, most, option.value));
  }
  return number;
}

void read_option(PlatformOptions& options, const PlatformOption& option, const std::string& name,
                 const std::string& argument) {
  const std::string& value = option.value;
  if (option.key == "nodes") {
    options.nodes = read_number(option, kMostNodes, argument);
  } else if (option.key == "devices") {
    options.devices = read_number(option, load_platform(name).most_devices, argument);
  } else if (option.key == "rails" && (value == "split" || value == "round-robin")) {
    options.rails = value == "split" ? RailUse::split : RailUse::round_robin;
  } else {
    throw UsageError(fmt::format(
        "--device sim:{}: expected devices=N, nodes=N, rails=split or rails=round-robin, not {}={}",
        argument, option.key, value));
  }
}

// Opens a machine from NAME or a path, either followed by any number of :KEY=VALUE.
std::unique_ptr<Machine> open_sim(const std::string& argument) {
  if (argument.empty()) {
    throw UsageError(
        fmt::format("--device sim: expected a platform, as in sim:h200:devices=4: one of {}, or a "
                    "TOML file",
                    fmt::join(platform_names(), ", ")));
  }
  std::vector<PlatformOption> given;
  std::string name = argument;
  for (std::size_t at = name.rfind(':'); at != std::string::npos; at = name.rfind(':')) {
    const std::string option = name.substr(at + 1);
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos) break;
    given.push_back({option.substr(0, equals), option.substr(equals + 1)});
    name.resize(at);
  }
  PlatformOptions options;
  for (const PlatformOption& option : given) read_option(options, option, name, argument);
  return std::make_unique<SimMachine>(load_platform(name, options));
}

}  // namespace
}  // namespace duet::sim

namespace duet {

void register_sim_backend() {
  register_backend(
      {"sim", "sim:NAME or sim:FILE.toml, with :devices=N: a simulated machine, in virtual time",
       sim::open_sim});
}

}  // namespace duet
