#include "overlap/advisor/probes.h"

#include "overlap/engines.h"

namespace duet {
namespace {

// Sizes of the probes. On GPUs:
//
//   GEMM    alone           collective as shorter side   as longer side
//   large   about 13 ms     4 GiB                        8 GiB
//   flat    0.2 to 0.3 ms   16 MiB                       256 MiB
//
// The flat GEMM reads its weights for 64 tokens. The sides are long for two reasons: the
// interference is then far above the noise, and a library whose large copies wait for the whole
// GEMM shows this behaviour.
struct ProbeSizes {
  const char* large;
  const char* flat;
  std::uint64_t latency_bytes, bandwidth_bytes;
  std::uint64_t beside_large[2], beside_flat[2];
};
constexpr ProbeSizes kGpu = {"16384x16384x16384", "64x57344x8192",          64 << 10,
                             1ull << 30,          {4ull << 30, 8ull << 30}, {16 << 20, 256 << 20}};
constexpr ProbeSizes kCpu = {"512x512x512", "4x2048x2048",       64 << 10,
                             8 << 20,       {1 << 20, 16 << 20}, {256 << 10, 4 << 20}};

const ProbeSizes& sizes_for(Machine& machine) {
  return machine.device(0).info().is_cpu ? kCpu : kGpu;
}

// A scenario whose bytes are rounded down to what the ranks can divide.
OverlapScenario scenario(const GemmProblem& gemm, CollectiveKind kind, std::uint64_t bytes,
                         int ranks) {
  OverlapScenario one;
  one.source = "probe";
  one.compute = gemm;
  CollectiveSide side{kind, bytes};
  side.bytes = size_bytes(collective_of(one, side, ranks), ranks);
  one.communication = side;
  one.name = name(gemm) + " " + std::string(name(kind)) + " " + std::to_string(side.bytes);
  return one;
}

GemmProblem problem(const char* shape, DType dtype) {
  return parse_problem(std::string(shape) + " " + std::string(name(dtype)) + " nn");
}

std::vector<OverlapPolicy> policies(Machine& machine) {
  std::vector<OverlapPolicy> all{{OverlapPolicyKind::base, 0},
                                 {OverlapPolicyKind::priority, 0},
                                 {OverlapPolicyKind::zero_cta, 0},
                                 {OverlapPolicyKind::dma, 0}};
  const std::vector<int> sweep = partition_sweep(machine.device(0).info());
  if (sweep.empty()) return all;
  const int middle = sweep[sweep.size() / 2];
  for (const OverlapPolicyKind kind :
       {OverlapPolicyKind::partition, OverlapPolicyKind::priority_partition,
        OverlapPolicyKind::dma_partition}) {
    all.push_back({kind, middle});
  }
  return all;
}

}  // namespace

Benchmark isolated_probes(Machine& machine, const ProbeOptions& options,
                          std::function<bool()> stop) {
  const ProbeSizes& sizes = sizes_for(machine);
  const GemmProblem large = problem(sizes.large, options.dtype);
  const GemmProblem flat = problem(sizes.flat, options.dtype);
  IsolatedOptions isolated;
  isolated.peaks = options.peaks;
  isolated.mode = options.mode;
  isolated.device_name = options.device_name;
  for (const CollectiveKind kind : options.collectives) {
    isolated.scenarios.push_back(scenario(large, kind, sizes.latency_bytes, machine.size()));
    isolated.scenarios.push_back(scenario(flat, kind, sizes.bandwidth_bytes, machine.size()));
  }
  return isolated_benchmark(machine, isolated, std::move(stop));
}

Benchmark pair_probes(Machine& machine, const ProbeOptions& options, std::function<bool()> stop) {
  const ProbeSizes& sizes = sizes_for(machine);
  const GemmProblem large = problem(sizes.large, options.dtype);
  const GemmProblem flat = problem(sizes.flat, options.dtype);
  OverlapOptions overlap;
  overlap.policies = policies(machine);
  overlap.runs.mode = options.mode;
  overlap.device_name = options.device_name;
  for (const CollectiveKind kind : options.collectives) {
    for (const std::uint64_t bytes : sizes.beside_large) {
      overlap.scenarios.push_back(scenario(large, kind, bytes, machine.size()));
    }
    for (const std::uint64_t bytes : sizes.beside_flat) {
      overlap.scenarios.push_back(scenario(flat, kind, bytes, machine.size()));
    }
  }
  return overlap_benchmark(machine, overlap, std::move(stop));
}

void collect_rows(Benchmark& benchmark, std::vector<OverlapRow>& rows) {
  for (Case& one : benchmark.cases) {
    one.run = [&rows, inner = one.run] {
      Measurement measurement = inner();
      rows.push_back(row_of(measurement));
      return measurement;
    };
  }
}

DeviceTable empty_table(Machine& machine) {
  const DeviceInfo& info = machine.device(0).info();
  DeviceTable table;
  table.device = table_device(machine.is_virtual(), machine.name(), info.model);
  table.model = info.model;
  table.ranks = machine.size();
  table.compute_units = info.compute_units;
  table.vendor = overlap_engine_names(info.kind).vendor;
  return table;
}

std::string table_device(bool is_virtual, const std::string& machine, const std::string& model) {
  return is_virtual ? machine : model;
}

}  // namespace duet
