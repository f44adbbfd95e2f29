#include <fmt/format.h>

#include <algorithm>

#include "gemm/workload.h"
#include "training/models/model.h"
#include "training/workload.h"

namespace duet {
namespace {

// The type in which a recipe's GEMMs multiply; of fp8, the one with the higher peak of two.
DType multiplied_in(const Record& record) {
  const std::string recipe = axis_word(record.id, "recipe");
  if (recipe == "fp8") return DType::fp8_e4m3;
  return recipe == "fp32" ? DType::fp32 : DType::bf16;
}

// The dense peak in TFLOP/s; 0: not known.
double peak_of(const Site& site, DType dtype) {
  if (site.spec != nullptr) {
    const auto peak = site.spec->tflops.find(dtype);
    return peak == site.spec->tflops.end() ? 0 : peak->second;
  }
  const auto peak = site.peaks.find(gemm_peak_name(name(dtype)));
  return peak == site.peaks.end() ? 0 : peak->second.fastest;
}

// Of the sum of the parts below; docs/results/h200/train has 0.87 (narrow models) to 1.06.
constexpr double kShareOfSum = 0.80;

// The share of the dense peak that attention reaches, forward and backward pass together: of heads
// of 64 elements, by cuDNN on an H200 (docs/simulation.md).
double attention_share(double sequence) { return 0.28 * sequence / (sequence + 370); }

bool has_axis(const Record& record, const char* name) {
  return record.id.axes.find(name) != nullptr;
}

// A model without attention has no sequence, and one with it executes a sixth of attention's FLOP
// once more, which are those that `hardware_tflops` has beside `tflops`.
double attention_flop(const Record& record) {
  const double executed = record.rates.value("hardware_tflops");
  const double counted = record.rates.value("tflops");
  if (!has_axis(record, "sequence") || counted <= 0) return 0;
  return 6 * (executed / counted - 1) * record.cost.flop;
}

// The seconds of a step's collectives with nothing beside them; 0: it has none, or they were not
// measured.
double communication_of(const Record& record) {
  return record.metrics.value("communication_seconds");
}

// Why no rate is expected, or "".
std::string reason_without(const Record& record, const Site& site, DType dtype) {
  if (site.machine.virtual_time) return "what a simulated step reaches is a model's";
  if (site.spec == nullptr || site.spec->efficiency.count(dtype) == 0 ||
      site.spec->memory_gb_per_s <= 0) {
    return "what this device reaches of its peaks is not known";
  }
  if (has_axis(record, "parallel")) {
    if (record.id.engine != "none" && communication_of(record) <= 0)
      return "what communication takes of a step is not known";
  } else if (record.id.engine != "duet") {
    return "the bytes that this engine moves are not known";
  }
  if (axis_word(record.id, "recipe") == "fp8") return "what is multiplied in bf16 is not known";
  if (axis_word(record.id, "model").rfind("qwen3-moe-", 0) == 0)
    return "what products of experts reach of the rate of others is not known";
  if (has_axis(record, "recompute")) return "what is computed again is not known";
  return "";
}

// Costs are those of all ranks, which work at the same time.
double ranks_of(const Record& record) {
  return has_axis(record, "ranks") ? axis_number(record.id, "ranks") : 1;
}

// GEMMs, attention and the bytes of the rest, one after the other, then the collectives: a slower
// step gains nothing from communicating beside its passes.
void expect_sum(const Record& record, const DeviceSpec& spec, double flop_rate, double items,
                Expectation& expectation) {
  const DType dtype = multiplied_in(record);
  const double efficiency = spec.efficiency.at(dtype), bytes = record.cost.memory_bytes;
  const double attention = attention_flop(record);
  double seconds = (record.cost.flop - attention) / (efficiency * flop_rate) +
                   bytes / (kMemoryShare * spec.memory_gb_per_s * 1e9);
  if (attention > 0) {
    const double share = attention_share(axis_number(record.id, "sequence"));
    seconds += attention * 7 / 6 / (share * flop_rate);
  }
  const double communication = communication_of(record);
  expectation.expected = items / (seconds / ranks_of(record) / kShareOfSum + communication);
  expectation.basis = fmt::format(
      "{:.0f}% of the rate of GEMMs at {:.0f}% of the peak, attention, and {:.4g} GB at {:.0f}% of "
      "the memory's rate, one after the other",
      100 * kShareOfSum, 100 * efficiency, bytes / ranks_of(record) / 1e9, 100 * kMemoryShare);
  if (communication > 0) {
    expectation.basis +=
        fmt::format(", and {:.4g} ms of collectives, none of it hidden", 1e3 * communication);
  }
  expectation.advice =
      "look for a power cap or low clocks under load, and for other work on the GPU";
}

}  // namespace

// The bound is that of the longer of two works which could run at the same time: all FLOP at the
// dense peak, and the bytes of optimizer and norms at the memory's rate.
Expectation expect_training(const Record& record, const Site& site) {
  Expectation expectation;
  const DType dtype = multiplied_in(record);
  const double peak = peak_of(site, dtype);
  if (peak <= 0) {
    expectation.unknown = "the peak of this device is not known";
    return expectation;
  }
  const Cost& cost = record.cost;
  const double ranks = ranks_of(record);
  const double computing = cost.flop / ranks / peak / 1e12;
  const double moving = site.spec != nullptr && site.spec->memory_gb_per_s > 0
                            ? cost.memory_bytes / ranks / site.spec->memory_gb_per_s / 1e9
                            : 0;
  const double items = cost.more.value(kTokens, cost.more.value(kSamples));
  if (items <= 0) {
    expectation.unknown = "the record counts neither tokens nor samples";
    return expectation;
  }
  expectation.bound = items / std::max(computing, moving);
  expectation.measured_bound = site.spec == nullptr;
  const std::string mfu = fmt::format("{:.0f}% of the {} peak of {:.4g} TFLOP/s (MFU)",
                                      100 * computing / record.seconds.median,
                                      site.spec != nullptr ? "dense" : "measured", peak);
  const std::string reason = reason_without(record, site, dtype);
  if (reason.empty()) {
    expect_sum(record, *site.spec, peak * 1e12, items, expectation);
    expectation.basis += "; " + mfu;
  } else {
    expectation.unknown = reason + "; " + mfu;
  }
  return expectation;
}

}  // namespace duet
