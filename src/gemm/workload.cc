#include "gemm/workload.h"

#include "gemm/cases.h"
#include "gemm/grouped_table.h"

namespace duet {
namespace {

std::string peak_of_type(const CaseId& id) { return gemm_peak_name(axis_word(id, "dtype")); }

double cpu_flop(const CaseId& id) {
  return 2 * axis_number(id, "m") * axis_number(id, "n") * axis_number(id, "k");
}

double cpu_flop_of_groups(const CaseId& id) {
  return 2 * axis_number(id, "groups") * axis_number(id, "rows_per_group") * axis_number(id, "n") *
         axis_number(id, "k");
}

std::vector<RecordKind> gemm_records() {
  RecordKind gemm{"gemm"}, peak{"gemm_peak"}, search{"gemm_search"}, grouped{"gemm_grouped"};
  for (RecordKind* kind : {&gemm, &peak, &search}) kind->figures = {"tflops"};
  grouped.figures = {"tflops", "rows_of_largest", "rows_max_over_mean"};
  grouped.own_section = true;
  grouped.table.marks_best = false;  // the dense product is none of the engines
  grouped.tables = grouped_table;
  grouped.cpu_flop = cpu_flop_of_groups;
  gemm.table.alone = true;
  gemm.expect = search.expect = grouped.expect = expect_gemm;
  gemm.peak = peak.peak = grouped.peak = peak_of_type;
  peak.is_peak = true;
  gemm.cpu_flop = cpu_flop;
  return {gemm, peak, search, grouped};
}

// GEMM with the timing of the MI350X study (docs/measuring.md).
GemmOptions study(const std::string& sets) {
  GemmOptions options;
  options.shapes = parse_shapes(sets);
  options.mode = do_bench_mode();
  return options;
}

GemmOptions short_on_gpu() {
  GemmOptions options = study("seed,llama");
  options.tuning_seconds = 1.5;
  return options;
}

GemmOptions full() {
  GemmOptions options = study("seed,llama,squares,c3");
  options.dtypes = {DType::bf16, DType::fp16, DType::fp8_e4m3};
  options.layouts = {Layout::nn, Layout::nt};
  return options;
}

GemmOptions on_cpu(const std::string& sets) {
  GemmOptions options;
  options.shapes = parse_shapes(sets);
  options.dtypes = {DType::fp32, DType::bf16};
  options.mode.seconds = 0.3;
  return options;
}

GemmOptions of_health() {
  GemmOptions options = study("8192x8192x8192");
  options.tuning_seconds = 0.5;
  options.each_device = true;
  return options;
}

std::vector<SuiteEntry> gemm_suites() {
  const auto entry = [](const char* suite, const char* device, bool if_there,
                        const GemmOptions& options) {
    return suite_entry(suite, device, if_there, gemm_benchmark, options);
  };
  return {entry("quick", "host", false, on_cpu("quick")),
          entry("quick", "sim:mi300x-8", false, study("seed,llama")),
          entry("quick", "cuda", true, short_on_gpu()),
          entry("quick", "hip", true, short_on_gpu()),
          entry("seed", "sim:mi300x-8", false, full()),
          entry("seed", "sim:mi350x-8", false, full()),
          entry("seed", "cuda", true, full()),
          entry("seed", "hip", true, full()),
          entry("seed", "host", false, on_cpu("quick,4096x4096x4096")),
          entry("health", "host", false, on_cpu("quick")),
          entry("health", "", false, of_health())};
}

}  // namespace

std::string gemm_peak_name(std::string_view dtype) { return "gemm " + std::string(dtype); }

const Workload& gemm_workload() {
  static const Workload gemm{gemm_records(), gemm_suites()};
  return gemm;
}

}  // namespace duet
