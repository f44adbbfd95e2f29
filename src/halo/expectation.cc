#include <fmt/format.h>

#include <utility>

#include "copy/workload.h"
#include "halo/workload.h"

namespace duet {
namespace {

// What a sweep reaches of the memory's bandwidth: a copy within the device reaches 0.88 of it on an
// H200, and a sweep moves as many bytes a point.
constexpr double kSweepShare = 0.85;
constexpr double kCpuSweepShare = 0.80;    // of the copy peak
constexpr double kShortestSweep = 100e-6;  // seconds; in shorter ones launches show

double bytes_of_rank(const Record& record) {
  return record.cost.memory_bytes / axis_number(record.id, "ranks");
}

Expectation no_sweep(std::string why) {
  Expectation expectation;
  expectation.unknown = std::move(why);
  return expectation;
}

Expectation sweep_on_cpu(const Record& record, const Site& site) {
  if (axis_number(record.id, "ranks") > 1) return no_sweep("the ranks of a CPU share its memory");
  const auto peak = site.peaks.find(copy_peak_name("kernel"));  // by all cores, as a sweep
  if (peak == site.peaks.end()) return no_sweep("the run has no copy peak of this CPU");
  if (bytes_of_rank(record) < axis_number(peak->second.record.id, "bytes")) {
    return no_sweep("the fields are smaller than the copy peak's, and may sit in the cache");
  }
  if (axis_word(record.id, "norm") != "none") return no_sweep("a CPU computes for the norm");
  Expectation expectation;
  expectation.bound = peak->second.fastest;
  expectation.measured_bound = true;
  expectation.expected = kCpuSweepShare * peak->second.usual;
  expectation.basis = fmt::format("{:.0f}% of the {:.4g} GB/s that this CPU's copy peak measured",
                                  100 * kCpuSweepShare, peak->second.usual);
  expectation.advice = "look for other load on the memory, and at which NUMA node it is";
  return expectation;
}

}  // namespace

Expectation expect_halo(const Record& record, const Site& site) {
  if (site.spec == nullptr) return sweep_on_cpu(record, site);
  const double ranks = axis_number(record.id, "ranks"), memory = site.spec->memory_gb_per_s;
  if (memory <= 0) return no_sweep("the bandwidth of its memory is not known");
  // Two fields, of which each byte is moved once.
  if (bytes_of_rank(record) <= cache_bytes(site)) {
    return no_sweep("the fields of a rank fit in the cache");
  }
  Expectation expectation;
  expectation.bound = ranks * memory;
  if (ranks > 1) {
    expectation.unknown = "what the exchange costs is in the efficiency of halo_scaling";
  } else if (axis_word(record.id, "norm") == "host") {
    expectation.unknown = "the host reads the norm between two iterations";
  } else if (bytes_of_rank(record) / memory / 1e9 < kShortestSweep) {
    expectation.unknown = "the sweep is short: launches show";
  } else {
    expectation.expected = kSweepShare * memory;
    expectation.basis =
        fmt::format("{:.0f}% of the {:.4g} GB/s of its memory", 100 * kSweepShare, memory);
    expectation.advice = "look for other work on the device, and at the memory clock";
  }
  return expectation;
}

}  // namespace duet
