#pragma once

#include "overlap/advisor/advisor.h"

namespace duet {

// For tests: a small table with round figures, from which forecasts can be computed by hand.
// 100 TFLOP/s, 1 TB/s. An all_gather of S bytes takes 10 us + S / 100 GB/s by the library and
// 20 us + S / 125 GB/s by copy engines.
inline DeviceTable round_table() {
  DeviceTable table;
  table.device = table.model = "round";
  table.ranks = 4;
  table.compute_units = 100;
  table.vendor = "library";
  const GemmProblem large = parse_problem("10000x10000x5000 bf16 nn");  // 10 ms
  const GemmProblem flat = parse_problem("10x50000x10000 bf16 nn");     // about 1 ms
  table.gemms = {{large, flop(large) / 100e12, {{0, 1}, {8, 1.1}, {16, 1.2}}},
                 {flat, bytes(flat) / 1e12, {{0, 1}, {8, 0.9}, {16, 1.0}}}};
  const auto line = [](double latency, double rate) {
    return std::vector<SizeTime>{{100000, latency + 1e5 / rate},
                                 {1000000000, latency + 1e9 / rate}};
  };
  const CollectiveKind kind = CollectiveKind::all_gather;
  table.collectives = {
      {kind, "library", line(10e-6, 100e9), {{8, 2}, {16, 1}, {32, 1}}, 1000000000},
      {kind, "dma", line(20e-6, 125e9), {}, 0}};
  return table;
}

// A pair with one of the table's GEMMs: G and C_e are 10 ms, T is 10 ms x (1 + loss).
inline BesideEntry beside(OverlapPolicyKind kind, const std::string& engine, double loss) {
  BesideEntry entry;
  entry.policy = {kind, 0};
  entry.engine = engine;
  entry.compute = parse_problem("10000x10000x5000 bf16 nn");
  entry.collective = CollectiveKind::all_gather;
  entry.bytes = 1000000000;
  entry.compute_alone = entry.engine_alone = 10e-3;
  entry.together = 10e-3 * (1 + loss);
  entry.compute_slowdown = entry.communication_slowdown = 1 + loss;
  return entry;
}

}  // namespace duet
