#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "verdict/expectation.h"

namespace duet {
namespace {

// The type in which a recipe's GEMMs multiply.
DType multiplied_in(const Record& record) {
  return axis_word(record, "recipe") == "fp32" ? DType::fp32 : DType::bf16;
}

// The dense peak in TFLOP/s; 0: not known.
double peak_of(const Site& site, DType dtype) {
  if (site.spec != nullptr) {
    const auto peak = site.spec->tflops.find(dtype);
    return peak == site.spec->tflops.end() ? 0 : peak->second;
  }
  const auto peak = site.peaks.tflops.find(std::string(name(dtype)));
  return peak == site.peaks.tflops.end() ? 0 : peak->second.fastest;
}

}  // namespace

// The bound is that of the longer of two works which could run at the same time: all FLOP at the
// dense peak, and the bytes of optimizer and norms at the memory's rate.
Expectation expect_training(const Record& record, const Site& site) {
  Expectation expectation;
  const double peak = peak_of(site, multiplied_in(record));
  if (peak <= 0) {
    expectation.unknown = "the peak of this device is not known";
    return expectation;
  }
  const Record& cost = record["cost"];
  const double flop = cost["flop"].get<double>();
  const double computing = flop / peak / 1e12;
  const double moving = site.spec != nullptr && site.spec->memory_gb_per_s > 0
                            ? cost["memory_bytes"].get<double>() / site.spec->memory_gb_per_s / 1e9
                            : 0;
  const double items =
      cost.contains("tokens") ? cost["tokens"].get<double>() : cost.value("samples", 0.0);
  expectation.bound = items / std::max(computing, moving);
  expectation.measured_bound = site.spec == nullptr;
  const double share = computing / record["seconds"]["median"].get<double>();
  expectation.unknown = fmt::format(
      "what a healthy device reaches in training is not known; {:.0f}% of the {} peak of {:.4g} "
      "TFLOP/s (MFU)",
      100 * share, site.spec != nullptr ? "dense" : "measured", peak);
  return expectation;
}

}  // namespace duet
