#include "run/suites.h"

#include "collectives/engine.h"
#include "core/error.h"
#include "core/suggestion.h"
#include "fabric/both_ends.h"
#include "training/models/gpt.h"
#include "training/models/mlp.h"

namespace duet {
namespace {

// GEMM with the timing of the MI350X study (docs/measuring.md).
GemmOptions study_gemm(const std::string& sets) {
  GemmOptions options;
  options.shapes = parse_shapes(sets);
  options.mode = do_bench_mode();
  return options;
}

GemmOptions short_gpu_gemm() {
  GemmOptions options = study_gemm("seed,llama");
  options.tuning_seconds = 1.5;
  return options;
}

GemmOptions full_gemm() {
  GemmOptions options = study_gemm("seed,llama,squares,c3");
  options.dtypes = {DType::bf16, DType::fp16, DType::fp8_e4m3};
  options.layouts = {Layout::nn, Layout::nt};
  return options;
}

GemmOptions cpu_gemm(const std::string& sets) {
  GemmOptions options;
  options.shapes = parse_shapes(sets);
  options.dtypes = {DType::fp32, DType::bf16};
  options.mode.seconds = 0.3;
  return options;
}

// The curve of the MI300X study: one copy by a copy engine, from a device to its neighbour.
CopyOptions study_copy() {
  CopyOptions options;
  options.kinds = {CopyKind::peer};
  options.executors = {Executor::dma};
  options.issues = {Issue::push};
  options.directions = {false};
  return options;
}

// All kinds of copies, pushed in one direction, at four sizes: takes seconds on GPUs.
CopyOptions short_gpu_copy() {
  CopyOptions options;
  options.issues = {Issue::push};
  options.directions = {false};
  options.sizes = {64ull << 10, 1ull << 20, 16ull << 20, 256ull << 20};
  options.mode.seconds = 0.1;
  return options;
}

CopyOptions cpu_copy() {
  CopyOptions options;
  options.sizes = {64ull << 10, 1ull << 20, 16ull << 20, 256ull << 20};
  options.beyond_cache = true;
  options.mode.seconds = 0.3;
  return options;
}

// The two collectives that training uses most, at three sizes.
CollectiveOptions short_collectives() {
  CollectiveOptions options;
  options.kinds = {CollectiveKind::all_gather, CollectiveKind::all_to_all};
  options.sizes = {1ull << 20, 64ull << 20, 1ull << 30};
  options.in_place = {false};
  options.mode.seconds = 0.1;
  return options;
}

// Two collectives at a small and a large size, by the CPU's default engines.
CollectiveOptions cpu_collectives() {
  CollectiveOptions options;
  options.kinds = {CollectiveKind::all_gather, CollectiveKind::all_reduce};
  options.sizes = {64ull << 10, 4ull << 20};
  options.in_place = {false};
  options.mode.seconds = 0.1;
  return options;
}

CollectiveOptions sim_collectives() {
  CollectiveOptions options;
  options.kinds = {CollectiveKind::all_gather, CollectiveKind::all_reduce};
  options.engines = {"dma", "vendor-model"};
  options.sizes = {256ull << 20, 1ull << 30};
  options.in_place = {false};
  return options;
}

// One scenario under the policies that every machine supports.
OverlapOptions one_overlap(const char* compute, const char* communication) {
  OverlapOptions options;
  options.scenarios = {parse_scenario(compute, communication)};
  options.policies = parse_policies("serial,base,priority,dma");
  return options;
}

// The smallest model of the study.
TrainingOptions short_training(const char* recipe) {
  TrainingOptions options;
  options.models = {describe(gpt_configs().front())};
  options.recipes = {find_recipe(recipe)};
  options.mode.seconds = 0.5;
  return options;
}

TrainingOptions cpu_training() {
  TrainingOptions options = short_training("fp32");
  options.models = {options.models.front().with_batch(1)};
  options.mode.fair_iterations = options.mode.min_iterations;
  return options;
}

// The rows of the MI350X study.
TrainingOptions study_gpts() {
  TrainingOptions options;
  for (const GptConfig& each : gpt_configs()) options.models.push_back(describe(each));
  options.recipes = {find_recipe("amp"), find_recipe("bf16")};
  options.breakdown = true;
  return options;
}

TrainingOptions study_mlps() {
  TrainingOptions options;
  options.models = {describe(study_mlp())};
  options.recipes = {find_recipe("fp32"), find_recipe("bf16")};
  options.optimizer.kind = OptimizerKind::sgd;
  return options;
}

FabricOptions short_fabric() {
  FabricOptions options;
  options.operations = {FabricOperation::send_recv, FabricOperation::write};
  options.sizes = {64ull << 10, 1ull << 20, 16ull << 20};
  options.windows = {8};
  options.mode.seconds = 0.2;
  return options;
}

constexpr const char* kCpuGemm = "gemm:512x512x512:fp32";
constexpr const char* kGpuGemm = "gemm:8192x57344x8192:bf16";

Suite quick() {
  return {"quick",
          "Each kind of benchmark, shortened: on the CPU, between two ends of the network on this "
          "machine, on sim:mi300x-8 and on GPUs where there are any; under two minutes",
          {{"host", false, cpu_gemm("quick")},
           {"host", false, cpu_copy()},
           {"host:2", false, cpu_collectives()},
           {"host:2", false, one_overlap(kCpuGemm, "all_gather:4M")},
           {"host", false, cpu_training()},
           {"host", false, short_fabric()},
           {"sim:mi300x-8", false, study_gemm("seed,llama")},
           {"sim:mi300x-8", false, study_copy()},
           {"sim:mi300x-8", false, sim_collectives()},
           {"sim:mi300x-8", false, one_overlap(kGpuGemm, "all_gather:896M")},
           {"sim:mi300x-8", false, short_training("amp")},
           {"cuda", true, short_gpu_gemm()},
           {"cuda", true, short_gpu_copy()},
           {"cuda", true, short_collectives()},
           {"cuda", true, one_overlap(kGpuGemm, "all_gather:896M")},
           {"cuda", true, short_training("amp")},
           {"hip", true, short_gpu_gemm()},
           {"hip", true, short_gpu_copy()}}};
}

GemmOptions health_gemm() {
  GemmOptions options = study_gemm("8192x8192x8192");
  options.tuning_seconds = 0.5;
  options.each_device = true;
  return options;
}

// By copy engines with the host, between all pairs and all at once; by compute units within each
// device, where copy engines need not reach the memory's rate.
CopyOptions health_copy(std::vector<CopyKind> kinds, Executor executor) {
  CopyOptions options = short_gpu_copy();
  options.kinds = std::move(kinds);
  options.executors = {executor};
  options.sizes = {256ull << 20};
  options.host_memory = {MemoryKind::pinned};
  options.each_device = true;
  return options;
}

CopyOptions health_cpu_copy() {
  CopyOptions options = cpu_copy();
  options.sizes = {256ull << 20};
  return options;
}

CollectiveOptions every_collective() {
  CollectiveOptions options;
  options.kinds = all_collectives();
  options.skews = {Skew::even, Skew::one_heavy};
  return options;
}

Suite seed() {
  return {
      "seed",
      "All that the studies measured, in full: every shape set, dtype and layout, every kind of "
      "copy and collective at every size, training steps of every model, on sim:mi300x-8 and "
      "sim:mi350x-8 and on GPUs where there "
      "are any",
      {{"sim:mi300x-8", false, full_gemm()},
       {"sim:mi350x-8", false, full_gemm()},
       {"sim:mi300x-8", false, CopyOptions()},
       {"sim:mi350x-8", false, study_mlps()},
       {"sim:mi350x-8", false, study_gpts()},
       {"cuda", true, full_gemm()},
       {"cuda", true, CopyOptions()},
       {"cuda", true, every_collective()},
       {"cuda", true, study_mlps()},
       {"cuda", true, study_gpts()},
       {"hip", true, full_gemm()},
       {"hip", true, CopyOptions()},
       {"host", false, cpu_gemm("quick,4096x4096x4096")},
       {"host", false, CopyOptions()}}};
}

using Stop = std::function<bool()>;

// If the fabric cannot be opened, the benchmark is one skipped case with the reason.
Benchmark fabric_of_suite(Machine& machine, const std::string& device, FabricOptions options,
                          const Stop& stop) {
  options.device_name = machine.name();
  try {
    return both_ends_benchmark(machine, open_machine(device), options, stop);
  } catch (const Error& error) {
    Benchmark benchmark;
    benchmark.cases.push_back(
        skipped_case({"fabric", machine.name(), "libfabric", {}}, error.what(), {}));
    return benchmark;
  }
}

}  // namespace

std::vector<Suite> suites() { return {quick(), seed()}; }

std::vector<SuiteEntry> health_entries(const std::string& kind) {
  if (kind == "host") return {{kind, false, cpu_gemm("quick")}, {kind, false, health_cpu_copy()}};
  const std::vector<CopyKind> beyond{CopyKind::peer, CopyKind::host_to_device,
                                     CopyKind::device_to_host};
  return {{kind, false, health_gemm()},
          {kind, false, health_copy(beyond, Executor::dma)},
          {kind, false, health_copy({CopyKind::local}, Executor::kernel)}};
}

Suite find_suite(const std::string& name) {
  for (const Suite& suite : suites()) {
    if (suite.name == name) return suite;
  }
  std::vector<std::string> names;
  for (const Suite& suite : suites()) names.push_back(suite.name);
  throw UsageError("unknown suite '" + name + "'" + did_you_mean(name, names) + ": expected " +
                   known_suites());
}

std::string known_suites() {
  std::string known;
  for (const Suite& suite : suites()) known += (known.empty() ? "" : " or ") + suite.name;
  return known;
}

void add_entry(RunPlan& plan, Machine& machine, const SuiteEntry& entry,
               const std::function<bool()>& stop) {
  if (const auto* gemm = std::get_if<GemmOptions>(&entry.options)) {
    GemmOptions options = *gemm;
    options.device_name = machine.name();
    add_job(plan, machine, gemm_benchmark(machine, options, stop));
  } else if (const auto* copy = std::get_if<CopyOptions>(&entry.options)) {
    CopyOptions options = *copy;
    options.device_name = machine.name();
    add_job(plan, machine, copy_benchmark(machine, options, stop));
  } else if (const auto* overlap = std::get_if<OverlapOptions>(&entry.options)) {
    OverlapOptions options = *overlap;
    options.device_name = machine.name();
    if (machine.size() > 1) add_job(plan, machine, overlap_benchmark(machine, options, stop));
  } else if (const auto* training = std::get_if<TrainingOptions>(&entry.options)) {
    TrainingOptions options = *training;
    options.device_name = machine.name();
    add_job(plan, machine, training_benchmark(machine, options, stop));
  } else if (const auto* fabric = std::get_if<FabricOptions>(&entry.options)) {
    add_job(plan, machine, fabric_of_suite(machine, entry.device, *fabric, stop));
  } else {
    CollectiveOptions options = std::get<CollectiveOptions>(entry.options);
    options.device_name = machine.name();
    // Collectives need several devices and an engine for them.
    const bool runs = !collective_engines(machine.device(0).info().kind).engines.empty();
    if (machine.size() > 1 && runs) {
      add_job(plan, machine, collective_benchmark(machine, options, stop));
    }
  }
}

}  // namespace duet
