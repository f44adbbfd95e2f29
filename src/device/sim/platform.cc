#include "device/sim/platform.h"

#include <fmt/format.h>

#include <tuple>

#include "core/error.h"
#include "core/range.h"
#include "core/toml_table.h"
#include "device/sim/platform_composition.h"

namespace duet::sim {
namespace {

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
constexpr double kMicro = 1e-6;
constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kGiB = 1024.0 * kMiB;

constexpr Range kMultiple{0.01, 1e4, ""};
constexpr Range kSlope{0, 100, ""};
constexpr Range kPollMicroseconds{0.1, 1000, "us"};
constexpr Range kCacheMib{0, 1e6, "MiB"};

constexpr int kMostThreads = 65536;  // of a compute unit, and of blocks of a launch
constexpr int kMostBlock = 1024;     // threads
constexpr int kMostTile = 65536;     // elements
constexpr int kMostEngines = 1024;
constexpr int kMostSplits = 64;
constexpr int kMostPriorities = 64;
constexpr int kMostDevices = 8192;  // of all nodes: each is a thread

GemmModel read_gemm(TomlTable table) {
  GemmModel gemm;
  std::tie(gemm.tile_m, gemm.tile_n) = table.pair("tile", kMostTile);
  for (TomlTable other : table.tables("other_tile")) {
    GemmTile tile;
    std::tie(tile.m, tile.n) = other.pair("tile", kMostTile);
    tile.efficiency = other.number("efficiency", kShareRange);
    other.finish();
    gemm.other_tiles.push_back(tile);
  }
  if (table.has("most_splits")) gemm.most_splits = table.count("most_splits", 1, kMostSplits);
  gemm.workgroup_seconds = kMicro * table.number("workgroup_us", kMicrosecondsRange);
  gemm.efficiency = table.table("efficiency").by_dtype(kShareRange, 1);
  gemm.traffic = table.number("traffic", kMultiple);
  gemm.uncrowded_units = table.count("uncrowded_units", 1, kMostUnits);
  gemm.crowding = table.number("crowding", kSlope);
  gemm.load_slope = table.number("load_slope", kSlope);
  table.finish();
  return gemm;
}

DmaModel read_dma(TomlTable table) {
  DmaModel dma;
  dma.engines = table.count("engines", 1, kMostEngines);
  dma.engine_rate = kGiga * table.number("engine_gb_per_s", kGbPerSRange);
  dma.latency = kMicro * table.number("latency_us", kMicrosecondsRange);
  dma.load_slope = table.number("load_slope", kSlope);
  table.finish();
  return dma;
}

KernelModel read_kernel(TomlTable table) {
  KernelModel kernel;
  kernel.launch = kMicro * table.number("launch_us", kMicrosecondsRange);
  kernel.unit_copy_rate = kGiga * table.number("unit_copy_gb_per_s", kGbPerSRange);
  kernel.load_slope = table.number("load_slope", kSlope);
  kernel.unit_threads = table.count("unit_threads", 1, kMostThreads);
  kernel.copy_grid = table.count("copy_grid", 1, kMostThreads);
  kernel.copy_block = table.count("copy_block", 1, kMostBlock);
  kernel.unit_local_rate = table.has("unit_local_gb_per_s")
                               ? kGiga * table.number("unit_local_gb_per_s", kGbPerSRange)
                               : kernel.unit_copy_rate;
  if (table.has("add_gb_per_s")) {
    kernel.add_rate = kGiga * table.number("add_gb_per_s", kGbPerSRange);
  }
  table.finish();
  return kernel;
}

PowerModel read_power(TomlTable table) {
  PowerModel power;
  power.watts = table.number("watts", kWattsRange);
  power.gemm_frequency = table.number("gemm_frequency", kShareRange);
  power.dma_joules = table.number("dma_joules_per_gb", kJoulesPerGb) / kGiga;
  power.kernel_joules = table.number("kernel_joules_per_gb", kJoulesPerGb) / kGiga;
  table.finish();
  return power;
}

DeviceModel read_device(TomlTable table) {
  DeviceModel device;
  device.model = table.text("model");
  device.compute_units = table.count("compute_units", 1, kMostUnits);
  device.unit_grain = table.count("unit_grain", 1, kMostUnits);
  device.dispatch = table.word("dispatch", {"in order", "mixed"}) == "mixed"
                        ? DispatchOrder::mixed
                        : DispatchOrder::in_order;
  device.priorities = table.count("priorities", 1, kMostPriorities);
  device.memory_bytes =
      static_cast<std::uint64_t>(table.bytes("memory_gib", kGiB, kMemoryGibRange));
  device.cache_bytes = static_cast<std::uint64_t>(table.bytes("cache_mib", kMiB, kCacheMib));
  device.memory_rate = kGiga * table.number("memory_gb_per_s", kGbPerSRange);
  device.memory_efficiency = table.number("memory_efficiency", kShareRange);
  device.unit_memory_rate = kGiga * table.number("unit_memory_gb_per_s", kGbPerSRange);
  device.signal_latency = kMicro * table.number("signal_us", kMicrosecondsRange);
  device.wait_latency = kMicro * table.number("wait_us", kMicrosecondsRange);
  device.peak = table.table("peak_tflops").by_dtype(kTflopsRange, kTera);
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
  link.count = table.count("count", 1, kMostLinks);
  link.raw_rate = kGiga * table.number("raw_gb_per_s", kGbPerSRange);
  const auto arriving = [&](const char* key) {
    const double rate = kGiga * table.number(key, kGbPerSRange);
    if (rate > link.raw_rate) table.fail(key, "at most raw_gb_per_s");
    return rate;
  };
  link.dma_push_rate = arriving("dma_push_gb_per_s");
  link.dma_pull_rate = arriving("dma_pull_gb_per_s");
  link.kernel_push_rate = arriving("kernel_push_gb_per_s");
  link.kernel_pull_rate = arriving("kernel_pull_gb_per_s");
  link.latency = kMicro * table.number("latency_us", kMicrosecondsRange);
  table.finish();
  return link;
}

HostModel read_host(TomlTable table) {
  HostModel host;
  host.memory_bytes = static_cast<std::uint64_t>(table.bytes("memory_gib", kGiB, kMemoryGibRange));
  host.copy_rate = kGiga * table.number("copy_gb_per_s", kGbPerSRange);
  host.copy_latency = kMicro * table.number("copy_us", kMicrosecondsRange);
  host.poll_seconds = kMicro * table.number("poll_us", kPollMicroseconds);
  // Earlier files have these keys. They are checked and have no effect.
  if (table.has("link_kind")) table.text("link_kind");
  if (table.has("link_raw_gb_per_s")) table.number("link_raw_gb_per_s", kGbPerSRange);
  host.pinned_rate = kGiga * table.number("pinned_gb_per_s", kGbPerSRange);
  host.pageable_rate = kGiga * table.number("pageable_gb_per_s", kGbPerSRange);
  host.link_latency = kMicro * table.number("link_us", kMicrosecondsRange);
  table.finish();
  return host;
}

NetworkModel read_network(TomlTable table) {
  NetworkModel network;
  network.kind = table.text("kind");
  network.rails = table.count("rails", 1, kMostLinks);
  network.rail_rate = kGiga * table.number("rail_gb_per_s", kGbPerSRange);
  network.efficiency = table.number("efficiency", kShareRange);
  network.latency = kMicro * table.number("latency_us", kMicrosecondsRange);
  table.finish();
  return network;
}

LibraryKernel read_library_kernel(TomlTable table) {
  LibraryKernel kernel;
  kernel.units = table.count("units", 1, kMostUnits);
  kernel.unit_copy_rate = kGiga * table.number("unit_copy_gb_per_s", kGbPerSRange);
  kernel.memory = table.number("memory", kMultiple);
  table.finish();
  return kernel;
}

LibraryModel read_library(TomlTable table) {
  LibraryModel library;
  library.name = table.text("name");
  library.all_gather = read_library_kernel(table.table("all_gather"));
  library.all_to_all = read_library_kernel(table.table("all_to_all"));
  library.latency = kMicro * table.number("latency_us", kMicrosecondsRange);
  library.link_share = table.number("link_share", kShareRange);
  library.ramp_bytes = table.bytes("ramp_mib", kMiB, kCacheMib);
  library.step_latency = kMicro * table.number("step_us", kMicrosecondsRange);
  library.reduce_links = table.number("reduce_links", kMultiple);
  library.reduce_network = table.number("reduce_network", kShareRange);
  library.network_share = table.number("network_share", kShareRange);
  table.finish();
  return library;
}

// Replaces "{devices}" in the text by the number of a node's devices.
std::string description_of(std::string text, int devices) {
  const std::string here = "{devices}";
  const std::size_t at = text.find(here);
  return at == std::string::npos ? text : text.replace(at, here.size(), std::to_string(devices));
}

void read_size(Platform& platform, TomlTable& table, const PlatformOptions& options) {
  const int most = table.has("most_devices") ? table.count("most_devices", 1, kMostNodeDevices)
                                             : kMostNodeDevices;
  platform.most_devices = most;
  platform.node_devices = platform.file_devices = table.count("devices", 1, most);
  platform.nodes = table.count("nodes", 1, kMostNodes);
  if (table.has("aliases")) {
    TomlTable aliases = table.table("aliases");
    for (const std::string& alias : aliases.keys()) aliases.count(alias.c_str(), 1, most);
  }
  if (options.nodes > 0) platform.nodes = options.nodes;
  if (options.devices > most) {
    throw UsageError(fmt::format("--device sim:{}: expected devices from 1 to {}, not {}",
                                 platform.name, most, options.devices));
  }
  if (options.devices > 0) platform.node_devices = options.devices;
  platform.devices = platform.nodes * platform.node_devices;
  if (platform.devices <= kMostDevices) return;
  const std::string expected =
      fmt::format("at most {} on {} nodes together", kMostDevices, platform.nodes);
  if (options.devices == 0) table.fail("devices", expected);
  throw UsageError(fmt::format("--device sim:{}: expected devices: {}", platform.name, expected));
}

}  // namespace

Platform parse_platform(const std::string& name, std::string_view text,
                        const PlatformOptions& options) {
  const toml::table parsed = completed(name, TomlTable::parse(name, text));
  TomlTable table(name, "", parsed);
  Platform platform;
  platform.name = name;
  platform.description = table.text("description");
  read_size(platform, table, options);
  platform.description = description_of(platform.description, platform.node_devices);
  if (table.has("device_spec")) table.text("device_spec");
  platform.device = read_device(table.table("device"));
  platform.link = read_link(table.table("link"));
  platform.network = read_network(table.table("network"));
  platform.network.use = options.rails;
  platform.host = read_host(table.table("host"));
  platform.library = read_library(table.table("library"));
  table.finish();
  return platform;
}

}  // namespace duet::sim
