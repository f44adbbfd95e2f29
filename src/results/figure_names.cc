#include "results/figure_names.h"

namespace duet {
namespace {

struct BenchmarkFigures {
  const char* benchmark;
  std::vector<std::string> names;
};

const std::vector<BenchmarkFigures>& all_figures() {
  static const std::vector<BenchmarkFigures> kAll = {
      {"gemm", {"tflops"}},
      {"gemm_peak", {"tflops"}},
      {"gemm_search", {"tflops"}},
      {"copy",
       {"gb_per_s", "gb_per_s_each", "latency_us", "asymptotic_gb_per_s", "n_half_bytes",
        "bytes_50_percent", "bytes_80_percent", "bytes_90_percent", "miss_percent",
        "beyond_best_percent"}},
      {"copy_peak", {"gb_per_s"}},
      {"collective",
       {"busbw_gb_per_s", "algbw_gb_per_s", "wire_gb_per_s", "percent_of_rails", "wrong",
        "crossover_bytes", "last_bytes", "smallest_bytes", "largest_bytes", "times_as_fast",
        "latency_us", "asymptotic_gb_per_s", "n_half_bytes", "miss_percent",
        "beyond_best_percent"}},
      {"overlap",
       {"best_seconds", "ahead", "fraction_of_ideal", "bound", "speedup", "ideal_speedup",
        "compute_slowdown", "communication_slowdown", "compute_seconds", "communication_seconds",
        "engine_seconds"}},
      {"overlap_isolated",
       {"tflops", "gb_per_s", "busbw_gb_per_s", "algbw_gb_per_s", "wire_gb_per_s",
        "percent_of_rails", "ideal_speedup", "slowdown", "units_taken", "flop_per_byte",
        "device_flop_per_byte", "memory_gb_per_s", "compute_seconds", "communication_seconds"}},
      {"train",
       {"tokens_per_s", "samples_per_s", "tflops", "six_n_tflops", "six_n_attention_tflops",
        "hardware_tflops", "communication_seconds", "exposed_seconds", "hidden_percent",
        "memory_bytes"}},
      {"train_run",
       {"tokens_per_s", "samples_per_s", "tflops", "first_step", "final_loss", "evaluation_loss",
        "memory_bytes"}},
      {"halo", {"gb_per_s", "glup_per_s", "efficiency", "speedup", "baseline_seconds"}},
      {"fabric",
       {"gbit_per_s", "percent_of_link", "latency_p50_us", "latency_p95_us", "latency_p99_us",
        "push_us", "poll_us", "post_us", "completion_us", "times_as_fast"}},
      {"fabric_fifo", {"million_per_s"}}};
  return kAll;
}

}  // namespace

std::vector<std::string> figure_names(std::string_view benchmark) {
  for (const BenchmarkFigures& one : all_figures()) {
    if (one.benchmark == benchmark) return one.names;
  }
  return {};
}

}  // namespace duet
