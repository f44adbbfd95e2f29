#include "halo/workload.h"

#include "copy/workload.h"

namespace duet {
namespace {

// RecordKind::rates of `halo`: "gb_per_s" of memory bytes, "glup_per_s" (10^9 points updated a
// second).
Rates halo_rates(const Cost& cost, double seconds) {
  if (!cost.more.contains(kPoints)) return usual_rates(cost, seconds);
  return {{"gb_per_s", cost.memory_bytes / seconds / 1e9},
          {"glup_per_s", cost.more.value(kPoints) / seconds / 1e9}};
}

// Sweeps are compared with the copy by all cores.
std::string copy_by_kernel(const CaseId&) { return copy_peak_name("kernel"); }

// Cases that `halo_scaling` compares, whatever the ranks and how they exchange.
std::string problem(const CaseId& id) {
  return id.device + "|" + id.axes.without({"ranks", "overlap", "graph"}).key();
}

std::string problem_on_one_rank(const CaseId& id) {
  return axis_number(id, "ranks") == 1 ? problem(id) : "";
}

std::vector<RecordKind> halo_records() {
  RecordKind halo{"halo"}, scaling{"halo_scaling"};
  halo.quantities = {kPoints};
  halo.rates = halo_rates;
  halo.figures = {"gb_per_s", "glup_per_s", "efficiency", "speedup", "baseline_seconds"};
  halo.several_calls = true;
  halo.expect = expect_halo;
  halo.peak = copy_by_kernel;
  halo.baseline = problem_on_one_rank;
  scaling.baseline = problem;
  return {halo, scaling};
}

}  // namespace

const Workload& halo_workload() {
  static const Workload halo{halo_records()};
  return halo;
}

}  // namespace duet
