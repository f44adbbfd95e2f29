// What the maker of a device states, and what verdicts expect to arrive of it:
// specs/devices/*.toml. The tables [simulation] of those files are read by
// device/sim/platform_composition.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace duet {

// Between the devices of a node; rates are of one direction, in 10^9 bytes a second.
struct LinkSpec {
  std::string kind;   // "NVLink"
  bool mesh = false;  // an equal share to each peer; else a switch gives all of it to any one peer
  int count = 0;
  double gb_per_s = 0;  // all links of a device together
};

// What arrives of a copy's bound: seconds = latency + bytes / (efficiency x bound). Words that are
// not given fit any copy.
struct CopyRule {
  std::optional<std::string> kind, executor, issue, pattern, memory;
  std::optional<bool> bidirectional;
  double efficiency = 0;
  double latency_us = 0;
  double from_bytes = 0;  // smaller copies are not judged
};

// What arrives of a device's links in a collective: seconds = latency + bus bytes / (efficiency x
// what a device can send). What is not given fits any.
struct CollectiveRule {
  std::vector<std::string> collectives;
  std::vector<std::string> engines;  // empty: any
  int most_ranks = 0;                // 0: any
  std::optional<bool> in_place;
  double efficiency = 0;
  double latency_us = 0;
  double from_bytes = 0;  // of bus bytes; smaller ones are not judged
};

struct DeviceSpec {
  std::string file;                 // "h200-sxm", of specs/devices
  std::string name;                 // "NVIDIA H200 SXM"
  std::string sources;              // what the file's opening comment says of them
  std::vector<std::string> models;  // as drivers name it
  int compute_units = 0;
  std::map<DType, double> tflops;      // dense peaks; TOP/s of integers
  std::map<DType, double> efficiency;  // of the peak, what the vendor's library reaches
  double memory_gb_per_s = 0;
  double cache_bytes = 0;  // of the last level; 0: as the driver says. Drivers may tell of less
  std::optional<LinkSpec> link;
  std::string host_link;  // "PCIe 5.0 x16"
  double host_link_gb_per_s = 0;
  double watts = 0;
  std::vector<CopyRule> copies;             // the first that fits counts
  std::vector<CollectiveRule> collectives;  // the same
};

// Throws UsageError that names the file, the key and what was expected.
DeviceSpec parse_device_spec(const std::string& file, std::string_view text);

// All of specs/devices, and the one for a model; nullptr where nothing is promised.
const std::vector<DeviceSpec>& device_specs();
const DeviceSpec* find_device_spec(const std::string& model);

}  // namespace duet
