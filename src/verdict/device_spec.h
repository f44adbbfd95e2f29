// Reads specs/devices/*.toml: what the maker of a device states, and what verdicts expect a program
// to reach. device/sim/platform_composition.h reads the tables [simulation] of those files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace duet {

// Links between the devices of a node. Rates are for one direction, in 10^9 bytes a second.
struct LinkSpec {
  std::string kind;  // "NVLink"
  bool mesh =
      false;  // true: each peer has an equal share; false: a switch, all links reach any peer
  int count = 0;
  double gb_per_s = 0;  // all links of a device together
};

// What a copy should reach of its bound: seconds = latency + bytes / (efficiency x bound). A field
// that is not set fits any copy.
struct CopyRule {
  std::optional<std::string> kind, executor, issue, pattern, memory;
  std::optional<bool> bidirectional;
  double efficiency = 0;
  double latency_us = 0;
  double from_bytes = 0;  // smaller copies are not judged
};

// The bus bandwidth of a collective on the slowest of the healthy machines that were measured, at
// some sizes. Between two sizes its logarithm is linear in that of the size; above the last it
// stays.
struct CollectiveLine {
  std::string collective, engine;
  int most_ranks = 0;            // 0: any
  std::optional<bool> in_place;  // nullopt: both
  bool in_a_row = false;         // of calls behind each other (mode loop), not one by one
  double spread = 1;             // the fastest machine's rate over the slowest's, at most
  std::vector<double> bus_bytes, gb_per_s;  // rising sizes

  std::optional<double> at(double bytes) const;  // nullopt below the first size
};

// What simulated figures of some works rest on.
struct SimulatedBasis {
  std::vector<std::string> works;  // benchmarks, as "gemm"; those that begin with it and "_" too
  std::string fitted_to;
  std::string compared_with;  // measurements that nothing was fitted to; "": none ever
};

struct DeviceSpec {
  std::string file;                 // name in specs/devices: "h200-sxm"
  std::string name;                 // "NVIDIA H200 SXM"
  std::string sources;              // from the opening comment of the file
  std::vector<std::string> models;  // names that drivers give the device
  int compute_units = 0;
  std::map<DType, double> tflops;      // dense peaks; TOP/s of integers
  std::map<DType, double> efficiency;  // share of the peak that the vendor's library reaches
  double memory_gb_per_s = 0;
  double cache_bytes = 0;  // of the last level; 0: the driver's value, which may be too small
  std::optional<LinkSpec> link;
  std::string host_link;  // "PCIe 5.0 x16"
  double host_link_gb_per_s = 0;
  double watts = 0;
  // Of its simulation, 0 where that has no such figure: the power limit above idle, and what a copy
  // engine takes for 10^9 bytes sent.
  double watts_above_idle = 0, dma_joules_per_gb = 0;
  std::vector<CopyRule> copies;             // the first rule that fits applies
  std::vector<CollectiveLine> collectives;  // the first line that fits applies
  std::vector<SimulatedBasis> simulated;
};

// The basis of a simulated device's figures of a benchmark; nullptr: the spec has none.
const SimulatedBasis* simulated_basis(const std::string& model, const std::string& benchmark);

// Throws UsageError that names the file, the key and what was expected.
DeviceSpec parse_device_spec(const std::string& file, std::string_view text);

// The first rule that fits a copy, of which `copy` sets all that rules may; nullptr if none does.
const CopyRule* find_copy_rule(const DeviceSpec& spec, const CopyRule& copy);

// All of specs/devices, and the spec of a model; nullptr if there is none.
const std::vector<DeviceSpec>& device_specs();
const DeviceSpec* find_device_spec(const std::string& model);

}  // namespace duet
