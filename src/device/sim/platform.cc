// Reading a platform's figures.
#include "device/sim/platform.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <tuple>

#include "core/error.h"
#include "core/suggestion.h"
#include "core/toml_table.h"

namespace duet::sim {
namespace {

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
constexpr double kMicro = 1e-6;
constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kGiB = 1024.0 * kMiB;

GemmModel read_gemm(TomlTable table) {
  GemmModel gemm;
  std::tie(gemm.tile_m, gemm.tile_n) = table.pair("tile");
  gemm.workgroup_seconds = kMicro * table.number("workgroup_us");
  gemm.efficiency = table.table("efficiency").by_dtype(&TomlTable::fraction, 1);
  gemm.traffic = table.positive("traffic");
  for (TomlTable shape : table.tables("shape")) {
    gemm.shape_traffic[shape.text("size")] = shape.positive("traffic");
    shape.finish();
  }
  gemm.uncrowded_units = table.count("uncrowded_units", 1);
  gemm.crowding = table.number("crowding");
  gemm.load_slope = table.number("load_slope");
  table.finish();
  return gemm;
}

DmaModel read_dma(TomlTable table) {
  DmaModel dma;
  dma.engines = table.count("engines", 1);
  dma.engine_rate = kGiga * table.positive("engine_gb_per_s");
  dma.latency = kMicro * table.number("latency_us");
  dma.load_slope = table.number("load_slope");
  table.finish();
  return dma;
}

KernelModel read_kernel(TomlTable table) {
  KernelModel kernel;
  kernel.launch = kMicro * table.number("launch_us");
  kernel.unit_copy_rate = kGiga * table.positive("unit_copy_gb_per_s");
  kernel.load_slope = table.number("load_slope");
  kernel.unit_threads = table.count("unit_threads", 1);
  kernel.copy_grid = table.count("copy_grid", 1);
  kernel.copy_block = table.count("copy_block", 1);
  table.finish();
  return kernel;
}

PowerModel read_power(TomlTable table) {
  PowerModel power;
  power.watts = table.positive("watts");
  power.gemm_frequency = table.fraction("gemm_frequency");
  power.dma_joules = table.number("dma_joules_per_gb") / kGiga;
  power.kernel_joules = table.number("kernel_joules_per_gb") / kGiga;
  table.finish();
  return power;
}

DeviceModel read_device(TomlTable table) {
  DeviceModel device;
  device.model = table.text("model");
  device.compute_units = table.count("compute_units", 1);
  device.unit_grain = table.count("unit_grain", 1);
  device.dispatch = table.word("dispatch", {"in order", "mixed"}) == "mixed"
                        ? DispatchOrder::mixed
                        : DispatchOrder::in_order;
  device.priorities = table.count("priorities", 1);
  device.memory_bytes = static_cast<std::uint64_t>(kGiB * table.positive("memory_gib"));
  device.cache_bytes = static_cast<std::uint64_t>(kMiB * table.number("cache_mib"));
  device.memory_rate = kGiga * table.positive("memory_gb_per_s");
  device.memory_efficiency = table.fraction("memory_efficiency");
  device.unit_memory_rate = kGiga * table.positive("unit_memory_gb_per_s");
  device.signal_latency = kMicro * table.number("signal_us");
  device.wait_latency = kMicro * table.number("wait_us");
  device.peak = table.table("peak_tflops").by_dtype(&TomlTable::positive, kTera);
  device.gemm = read_gemm(table.table("gemm"));
  device.dma = read_dma(table.table("dma"));
  device.kernel = read_kernel(table.table("kernel"));
  device.power = read_power(table.table("power"));
  table.finish();
  for (const auto& [type, peak] : device.peak) {
    if (device.gemm.efficiency.count(type) == 0) {
      table.fail("gemm.efficiency." + std::string(name(type)), "a share, since it has a peak");
    }
  }
  return device;
}

LinkModel read_link(TomlTable table) {
  LinkModel link;
  const std::string topology = table.word("topology", {"mesh", "switch"});
  link.topology = topology == "mesh" ? Topology::mesh : Topology::switched;
  link.kind = table.text("kind");
  link.count = table.count("count", 1);
  link.raw_rate = kGiga * table.positive("raw_gb_per_s");
  const auto arriving = [&](const char* key) {
    const double rate = kGiga * table.positive(key);
    if (rate > link.raw_rate) table.fail(key, "at most raw_gb_per_s");
    return rate;
  };
  link.dma_push_rate = arriving("dma_push_gb_per_s");
  link.dma_pull_rate = arriving("dma_pull_gb_per_s");
  link.kernel_push_rate = arriving("kernel_push_gb_per_s");
  link.kernel_pull_rate = arriving("kernel_pull_gb_per_s");
  link.latency = kMicro * table.number("latency_us");
  table.finish();
  return link;
}

HostModel read_host(TomlTable table) {
  HostModel host;
  host.memory_bytes = static_cast<std::uint64_t>(kGiB * table.positive("memory_gib"));
  host.copy_rate = kGiga * table.positive("copy_gb_per_s");
  host.copy_latency = kMicro * table.number("copy_us");
  host.poll_seconds = kMicro * table.positive("poll_us");
  host.link_kind = table.text("link_kind");
  host.link_raw_rate = kGiga * table.positive("link_raw_gb_per_s");
  host.pinned_rate = kGiga * table.positive("pinned_gb_per_s");
  host.pageable_rate = kGiga * table.positive("pageable_gb_per_s");
  host.link_latency = kMicro * table.number("link_us");
  table.finish();
  return host;
}

NetworkModel read_network(TomlTable table) {
  NetworkModel network;
  network.kind = table.text("kind");
  network.rails = table.count("rails", 1);
  network.rail_rate = kGiga * table.positive("rail_gb_per_s");
  network.efficiency = table.fraction("efficiency");
  network.latency = kMicro * table.number("latency_us");
  table.finish();
  return network;
}

LibraryKernel read_library_kernel(TomlTable table) {
  LibraryKernel kernel;
  kernel.units = table.count("units", 1);
  kernel.unit_copy_rate = kGiga * table.positive("unit_copy_gb_per_s");
  kernel.memory = table.positive("memory");
  table.finish();
  return kernel;
}

LibraryModel read_library(TomlTable table) {
  LibraryModel library;
  library.name = table.text("name");
  library.all_gather = read_library_kernel(table.table("all_gather"));
  library.all_to_all = read_library_kernel(table.table("all_to_all"));
  library.latency = kMicro * table.number("latency_us");
  library.link_share = table.fraction("link_share");
  library.ramp_bytes = kMiB * table.number("ramp_mib");
  library.step_latency = kMicro * table.number("step_us");
  library.reduce_links = table.positive("reduce_links");
  library.reduce_network = table.fraction("reduce_network");
  library.network_share = table.fraction("network_share");
  table.finish();
  return library;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  file.peek();  // a folder opens, and fails here
  if (!file.is_open() || file.bad()) {
    throw UsageError(fmt::format("{}: cannot be read: expected a platform's TOML file", path));
  }
  text << file.rdbuf();
  return text.str();
}

bool is_path(const std::string& name) {
  const std::string suffix = ".toml";
  const bool ends = name.size() >= suffix.size() &&
                    name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
  return ends || name.find('/') != std::string::npos;
}

}  // namespace

Platform parse_platform(const std::string& name, std::string_view text, int nodes) {
  const toml::table parsed = TomlTable::parse(name, text);
  TomlTable table(name, "", parsed);
  Platform platform;
  platform.name = name;
  platform.description = table.text("description");
  platform.nodes = table.count("nodes", 1);
  if (nodes > 0) platform.nodes = nodes;
  platform.node_devices = table.count("devices", 1);
  platform.devices = platform.nodes * platform.node_devices;
  platform.device = read_device(table.table("device"));
  platform.link = read_link(table.table("link"));
  platform.network = read_network(table.table("network"));
  platform.host = read_host(table.table("host"));
  platform.library = read_library(table.table("library"));
  table.finish();
  return platform;
}

std::string platform_toml(const std::string& name) {
  if (is_path(name)) return read_file(name);
  const auto& known = built_in_platforms();
  const auto found = known.find(name);
  if (found == known.end()) {
    std::vector<std::string> names;
    for (const auto& [each, text] : known) names.push_back(each);
    throw UsageError(
        fmt::format("unknown platform '{}'{}: expected one of {}, or a file with its path or .toml",
                    name, did_you_mean(name, names), fmt::join(names, ", ")));
  }
  return std::string(found->second);
}

Platform load_platform(const std::string& name, int nodes) {
  return parse_platform(name, platform_toml(name), nodes);
}

}  // namespace duet::sim
