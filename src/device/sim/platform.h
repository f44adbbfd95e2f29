// A simulated machine's figures, read from TOML (specs/platforms/*.toml, where each has its
// source). Only figures: what they mean for time is costs.cc's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace duet::sim {

// Rates are per second, in bytes or FLOP; times in seconds.
struct GemmModel {
  int tile_m = 0, tile_n = 0;          // of C that one workgroup computes
  double workgroup_seconds = 0;        // to fill and drain a workgroup's pipeline, beside its FLOP
  std::map<DType, double> efficiency;  // share of the peak that the inner loop sustains
};

struct DmaModel {
  int engines = 0;
  double engine_rate = 0;
  double latency = 0;  // of one copy
};

struct KernelModel {
  double launch = 0;          // latency of one kernel
  double unit_copy_rate = 0;  // bytes that one compute unit can copy, with enough threads
  int unit_threads = 0;       // threads on a compute unit that reach it
  int copy_grid = 0;          // launch shape of a copy to a peer where none is given
  int copy_block = 0;
};

struct DeviceModel {
  std::string model;
  int compute_units = 0;
  int priorities = 1;
  std::uint64_t memory_bytes = 0;
  std::uint64_t cache_bytes = 0;
  double memory_rate = 0;        // peak
  double memory_efficiency = 0;  // share of it that arrives
  std::map<DType, double> peak;  // dense FLOP per second
  GemmModel gemm;
  DmaModel dma;
  KernelModel kernel;
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
  std::string link_kind;
  double link_raw_rate = 0;  // of each device's own link, one direction
  double pinned_rate = 0;
  double pageable_rate = 0;
  double link_latency = 0;
};

// The vendor's collective library: kernels that move straight from rank to rank.
struct LibraryModel {
  std::string name;
  int all_gather_units = 0;  // compute units of its kernel, of all but the next
  int all_to_all_units = 0;  // of all_to_all, all_to_all_v, gather, scatter and send_recv
  double latency = 0;        // of a call, beyond a kernel's launch and its meetings
  double link_share = 0;     // of what kernels get of a link
};

struct Platform {
  std::string name;  // "mi300x-8", or the path of the file
  std::string description;
  int devices = 0;
  DeviceModel device;
  LinkModel link;
  HostModel host;
  LibraryModel library;
};

// Throws UsageError: one line with the file, the key and what was expected.
Platform parse_platform(const std::string& name, std::string_view toml);

// Those built in, by name.
const std::map<std::string, std::string_view>& built_in_platforms();

// A built-in platform, or a file's (a name with a slash or ending in .toml). Throws UsageError.
Platform load_platform(const std::string& name);

}  // namespace duet::sim
