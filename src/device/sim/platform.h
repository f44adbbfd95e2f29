// The figures of a simulated machine, read from TOML: a platform file (specs/platforms) with the
// topology and the host, and the device spec that it names (specs/devices). CostModel (costs.h)
// turns them into times.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace duet::sim {

// In all models rates are per second, in bytes or FLOP, and times in seconds. A load_slope is that
// of LoadSlowdown (flow_rates.h): while flows of the other kind (computing or moving data) take all
// of the memory bandwidth, the rate is 1 / (1 + slope) of what it is without them.

// Another tile that the library takes where it fills the units better.
struct GemmTile {
  int m = 0, n = 0;
  double efficiency = 1;  // as a share of the usual tile's
};

struct GemmModel {
  int tile_m = 0, tile_n = 0;  // of C that one workgroup computes, usually
  std::vector<GemmTile> other_tiles;
  int most_splits = 1;  // likewise: of K among workgroups, whose sums another kernel adds up
  double workgroup_seconds = 0;        // to fill and drain a workgroup's pipeline, beside its FLOP
  std::map<DType, double> efficiency;  // share of the peak that the inner loop sustains
  double traffic = 1;       // memory traffic, as a multiple of reading A and B and writing C once
  int uncrowded_units = 0;  // with more units at once the caches are too small
  double crowding = 0;  // additional traffic on all units, as a share of that on uncrowded_units
  double load_slope = 0;
};

struct DmaModel {
  int engines = 0;
  double engine_rate = 0;
  double latency = 0;  // of one copy
  double load_slope = 0;
};

// Which of several kernels of equal priority gets compute units that become free.
enum class DispatchOrder {
  in_order,  // the kernel that came first, until none of its workgroups waits
  mixed      // all kernels, in proportion to the numbers of their waiting workgroups
};

struct KernelModel {
  double launch = 0;           // latency of one kernel
  double unit_copy_rate = 0;   // bytes that one compute unit can copy, with enough threads
  double unit_local_rate = 0;  // the same within the device; unit_copy_rate where not given
  double load_slope = 0;       // of copies and collectives
  int unit_threads = 0;        // threads on a compute unit that reach unit_copy_rate
  int copy_grid = 0;           // launch shape of a copy to a peer for which none is given
  int copy_block = 0;
  double add_rate = 0;  // at which bytes are added to a peer's memory in flight; 0: it cannot
};

// How the clock falls with the power drawn (PowerThrottle in flow_rates.h). With frequency 1 and no
// joules it never falls.
struct PowerModel {
  double watts = 0;           // power limit above the power of an idle device
  double gemm_frequency = 1;  // share of the full clock at which a GEMM on all units runs
  double dma_joules = 0;      // per byte copied between devices, half of it at each end
  double kernel_joules = 0;   // the same for copies by kernels
};

struct DeviceModel {
  std::string model;
  int compute_units = 0;
  int unit_grain = 1;  // units are given to streams, and blocks dispatched, in multiples of this
  DispatchOrder dispatch = DispatchOrder::in_order;
  int priorities = 1;
  std::uint64_t memory_bytes = 0;
  std::uint64_t cache_bytes = 0;
  double memory_rate = 0;        // peak
  double memory_efficiency = 0;  // share of the peak that can be reached
  double unit_memory_rate = 0;   // the most that one compute unit can draw
  std::map<DType, double> peak;  // dense FLOP per second
  GemmModel gemm;
  DmaModel dma;
  KernelModel kernel;
  PowerModel power;
  double signal_latency = 0;  // of a stream's signal of a semaphore
  double wait_latency = 0;    // from when a semaphore has its value until the stream goes on
};

enum class Topology {
  mesh,     // a link for every ordered pair of devices
  switched  // each device has one port in and one port out
};

struct LinkModel {
  Topology topology = Topology::mesh;
  std::string kind;
  int count = 1;
  double raw_rate = 0;       // of the datasheet, one direction
  double dma_push_rate = 0;  // rates that can be reached, by executor and direction
  double dma_pull_rate = 0;
  double kernel_push_rate = 0;
  double kernel_pull_rate = 0;
  double latency = 0;
};

struct HostModel {
  std::uint64_t memory_bytes = 0;
  double copy_rate = 0;  // of copies by the CPU
  double copy_latency = 0;
  double poll_seconds = 0;  // one query of a stream or an event by the CPU
  double pinned_rate = 0;   // of each device's own link, one direction
  double pageable_rate = 0;
  double link_latency = 0;
};

// How copies to another node use a device's NICs.
enum class RailUse {
  split,       // each copy uses all of them
  round_robin  // each copy uses one, in rotation
};

// The network between nodes. Every device has NICs of its own; the switch between them has no
// limit.
struct NetworkModel {
  std::string kind;
  int rails = 1;          // NICs of a device
  double rail_rate = 0;   // of the datasheet, one direction
  double efficiency = 0;  // share of rail_rate that can be reached
  double latency = 0;
  RailUse use = RailUse::split;
};

// How a collective of a library moves data across nodes.
enum class NodeAlgorithm {
  direct,  // every rank exchanges with every other
  ring,    // data go through all ranks, one after the other
  tree     // within the nodes, and along two trees of nodes, each for half of the bytes
};

// One of the kernels of a collective library.
struct LibraryKernel {
  int units = 0;              // compute units that it runs on
  double unit_copy_rate = 0;  // bytes per second that each unit can copy
  // Memory traffic over the bytes that the collective reads and writes; above 1 if the kernel
  // stages data.
  double memory = 0;
};

// The vendor's collective library, whose kernels move data directly between ranks.
struct LibraryModel {
  std::string name;
  LibraryKernel all_gather;  // for all collectives but those of all_to_all
  LibraryKernel all_to_all;  // for all_to_all, all_to_all_v, gather, scatter and send_recv
  double latency = 0;        // of a call, beyond the kernel's launch and its barriers
  double link_share = 0;     // share of a kernel's rate on a link that large calls reach
  // The first bytes are slower: b bytes that leave a rank take as long as b + r b / (r + b) bytes
  // at the full rate, where r is ramp_bytes.
  double ramp_bytes = 0;
  double step_latency = 0;  // of each step of a ring or a tree between nodes
  // Traffic of an all_reduce on links within a node, over that without a switch that reduces. A
  // switch that reduces lets each rank send its bytes once.
  double reduce_links = 1;
  // Shares of the network's rate that trees and all other algorithms reach.
  double reduce_network = 1, network_share = 1;
};

struct Platform {
  std::string name;  // "mi300x-8", "h200:devices=2", or the path of the file
  std::string description;
  int nodes = 1;
  int node_devices = 0;
  int file_devices = 0;  // node_devices of the file
  int most_devices = 0;  // the largest allowed node_devices
  int devices = 0;       // of all nodes
  DeviceModel device;
  LinkModel link;
  NetworkModel network;
  HostModel host;
  LibraryModel library;
};

constexpr int kMostNodes = 1024;
constexpr int kMostNodeDevices = 1024;

// Options after a platform's name in --device. 0: the number in the file.
struct PlatformOptions {
  int devices = 0;  // of each node
  int nodes = 0;
  RailUse rails = RailUse::split;
};

// Parses the text of a platform file. Throws UsageError: one line that states the file, the key and
// what was expected, with its unit; or the option and its allowed values.
Platform parse_platform(const std::string& name, std::string_view toml,
                        const PlatformOptions& options = {});

// The texts of the built-in platform files, by name.
const std::map<std::string, std::string_view>& built_in_platforms();

// The names and aliases of the built-in platforms: "h200", "h200-4", "h200-8" ...
std::vector<std::string> platform_names();

// The device that was perhaps meant by a name without "sim:", or by an alias with a number of
// devices that has none: "sim:h200-4", "sim:h200:devices=3"; "" if no built-in platform was.
std::string meant_device(const std::string& name);

// Loads a built-in platform by its name or an alias ("h200-4" is h200 with four devices a node), or
// a platform file (`name` has a slash or ends in .toml). If the number of devices has an alias,
// that is the platform's name, also if `name` is not the alias. Otherwise, if the number differs
// from the file's, the name is "NAME:devices=N". Throws UsageError.
Platform load_platform(const std::string& name, const PlatformOptions& options = {});

// The text of the same platform as a file that names no device spec, so that every figure can be
// changed in it (platform_text.h).
std::string platform_toml(const std::string& name, const PlatformOptions& options = {});

}  // namespace duet::sim
