// A simulated machine's figures, read from TOML: a platform file (specs/platforms) with the
// topology and the host, and the device spec that it names (specs/devices). Only figures: what they
// mean for time is in costs.cc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace duet::sim {

// Rates are per second, in bytes or FLOP; times in seconds.
// A slope says how much slower something gets as others load the memory: at full load from the
// other side (computing or moving data) to 1 / (1 + slope).
struct GemmModel {
  int tile_m = 0, tile_n = 0;          // of C that one workgroup computes
  double workgroup_seconds = 0;        // to fill and drain a workgroup's pipeline, beside its FLOP
  std::map<DType, double> efficiency;  // share of the peak that the inner loop sustains
  double traffic = 1;  // memory traffic, as a multiple of reading A and B and writing C once
  std::map<std::string, double> shape_traffic;  // the same of single shapes, "8192x57344x8192"
  int uncrowded_units = 0;                      // on more at once the caches are too small,
  double crowding = 0;                          // and on all of them traffic is by this share more
  double load_slope = 0;
};

struct DmaModel {
  int engines = 0;
  double engine_rate = 0;
  double latency = 0;  // of one copy
  double load_slope = 0;
};

// Whose workgroups get the units that come free, of kernels of equal priority.
enum class DispatchOrder {
  in_order,  // those of the kernel that came first, until none of them waits
  mixed      // those of all kernels, in proportion to how many of them wait
};

struct KernelModel {
  double launch = 0;          // latency of one kernel
  double unit_copy_rate = 0;  // bytes that one compute unit can copy, with enough threads
  double load_slope = 0;      // of copies and collectives
  int unit_threads = 0;       // threads on a compute unit that reach it
  int copy_grid = 0;          // launch shape of a copy to a peer where none is given
  int copy_block = 0;
};

// A device whose clock falls with what is drawn. Frequency 1 and no joules: it never falls.
struct PowerModel {
  double watts = 0;           // that may be drawn, above what an idle device draws
  double gemm_frequency = 1;  // share of the full clock that a GEMM on all units runs at
  double dma_joules = 0;      // that moving a byte between devices takes, half of it at each end
  double kernel_joules = 0;
};

struct DeviceModel {
  std::string model;
  int compute_units = 0;
  int unit_grain = 1;  // of what a stream can be given, and of what is dispatched together
  DispatchOrder dispatch = DispatchOrder::in_order;
  int priorities = 1;
  std::uint64_t memory_bytes = 0;
  std::uint64_t cache_bytes = 0;
  double memory_rate = 0;        // peak
  double memory_efficiency = 0;  // share of it that arrives
  double unit_memory_rate = 0;   // that one compute unit can draw
  std::map<DType, double> peak;  // dense FLOP per second
  GemmModel gemm;
  DmaModel dma;
  KernelModel kernel;
  PowerModel power;
  double signal_latency = 0;
  double wait_latency = 0;
};

enum class Topology {
  mesh,     // a link for every ordered pair of devices
  switched  // each device has one port in and one port out
};

struct LinkModel {
  Topology topology = Topology::mesh;
  std::string kind;
  int count = 1;
  double raw_rate = 0;       // as the datasheet has it, one direction
  double dma_push_rate = 0;  // what arrives of it, by who moves the bytes
  double dma_pull_rate = 0;
  double kernel_push_rate = 0;
  double kernel_pull_rate = 0;
  double latency = 0;
};

struct HostModel {
  std::uint64_t memory_bytes = 0;
  double copy_rate = 0;  // of the CPU
  double copy_latency = 0;
  double poll_seconds = 0;  // one look of the CPU at a stream or an event
  double pinned_rate = 0;   // of each device's own link, one direction
  double pageable_rate = 0;
  double link_latency = 0;
};

// How copies to another node use a device's NICs.
enum class RailUse {
  split,       // each over all of them
  round_robin  // each over one, in rotation
};

// Between nodes: every device has so many NICs of its own, and a switch that is never full.
struct NetworkModel {
  std::string kind;
  int rails = 1;          // NICs of a device
  double rail_rate = 0;   // raw, one direction
  double efficiency = 0;  // share of it that arrives
  double latency = 0;
  RailUse use = RailUse::split;
};

// How a collective of a library crosses nodes.
enum class NodeAlgorithm {
  direct,  // every rank with every other
  ring,    // through all ranks, one after the other
  tree     // within the nodes, and two trees of nodes, each of half of the bytes
};

// One of the kernels of a collective library.
struct LibraryKernel {
  int units = 0;              // compute units that it runs on
  double unit_copy_rate = 0;  // bytes that each of them can copy
  double memory = 0;  // traffic, times what the collective itself reads and writes: it stages
};

// The vendor's collective library: kernels that move straight from rank to rank.
struct LibraryModel {
  std::string name;
  LibraryKernel all_gather;  // for all but the next
  LibraryKernel all_to_all;  // for all_to_all, all_to_all_v, gather, scatter and send_recv
  double latency = 0;        // of a call, beyond a kernel's launch and its meetings
  double link_share = 0;     // of what kernels get of a link, of many bytes
  // b bytes that leave a rank take as long as b + r b / (r + b) would: the first are slower.
  double ramp_bytes = 0;
  double step_latency = 0;  // of each step of a ring or a tree between nodes
  // Of an all_reduce's bytes within a node: what a switch reduces is sent once.
  double reduce_links = 1;
  // Shares of the network's rate: of trees, and of all else.
  double reduce_network = 1, network_share = 1;
};

struct Platform {
  std::string name;  // "mi300x-8", "h200:devices=2", or the path of the file
  std::string description;
  int nodes = 1;
  int node_devices = 0;
  int file_devices = 0;  // node_devices where nothing else is asked for
  int most_devices = 0;  // that a node can have
  int devices = 0;       // of all nodes
  DeviceModel device;
  LinkModel link;
  NetworkModel network;
  HostModel host;
  LibraryModel library;
};

constexpr int kMostNodes = 1024;
constexpr int kMostNodeDevices = 1024;

// What stands behind a platform's name in --device. 0: as many as the file says.
struct PlatformOptions {
  int devices = 0;  // of a node
  int nodes = 0;
  RailUse rails = RailUse::split;
};

// Throws UsageError: one line with the file, the key and what was expected, with its unit; or with
// the option and what it may be.
Platform parse_platform(const std::string& name, std::string_view toml,
                        const PlatformOptions& options = {});

// Those built in, by name.
const std::map<std::string, std::string_view>& built_in_platforms();

// Their names and aliases: "h200", "h200-4", "h200-8" ...
std::vector<std::string> platform_names();

// A built-in platform by its name or an alias ("h200-4" is h200 with four devices a node), or a
// file (a name with a slash or ending in .toml). With a number of devices that has an alias the
// platform is called by it, however it was asked for; with another than the file's it is called
// "NAME:devices=N". Throws UsageError.
Platform load_platform(const std::string& name, const PlatformOptions& options = {});

// The same platform as the text of a file that names no device spec, to be changed figure by
// figure.
std::string platform_toml(const std::string& name, const PlatformOptions& options = {});

}  // namespace duet::sim
