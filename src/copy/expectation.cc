#include <fmt/format.h>

#include "copy/workload.h"
#include "verdict/peer_links.h"

namespace duet {
namespace {

constexpr double kCpuCopyShare = 0.90;  // share of the copy peak that a plain copy should reach

double bytes_of(const Record& record) { return axis_number(record.id, "bytes"); }

// "pinned" or "pageable" if one end of the copy is host memory, else "".
std::string memory_of(const Record& record) {
  for (const char* axis : {"source", "destination"}) {
    const std::string place = axis_word(record.id, axis);
    if (place == "pinned" || place == "pageable") return place;
  }
  return "";
}

const CopyRule* rule_of(const Record& record, const DeviceSpec& spec) {
  CopyRule copy;
  copy.kind = axis_word(record.id, "kind");
  copy.executor = axis_word(record.id, "executor");
  copy.issue = axis_word(record.id, "issue");
  copy.pattern = axis_word(record.id, "pattern");
  copy.memory = memory_of(record);
  copy.bidirectional = axis_true(record.id, "bidirectional");
  return find_copy_rule(spec, copy);
}

Bound bound_of(const Record& record, const Site& site) {
  const DeviceSpec& spec = *site.spec;
  const std::string kind = axis_word(record.id, "kind");
  if (kind == "peer") return peer_bound(record, site);
  if (kind == "local") {
    // A copy that fits in the cache is not limited by memory bandwidth.
    if (bytes_of(record) <= cache_bytes(site)) return {0, "the copy fits in the cache"};
    return {spec.memory_gb_per_s,
            fmt::format("the {:.4g} GB/s of its memory", spec.memory_gb_per_s)};
  }
  return {spec.host_link_gb_per_s,
          fmt::format("the {:.4g} GB/s of {}", spec.host_link_gb_per_s, spec.host_link)};
}

std::string advice(const Record& record, const Site& site) {
  const std::string kind = axis_word(record.id, "kind");
  if (kind == "peer") {
    const std::string links = missing_links(record, site);
    if (!links.empty()) return links;
    return "look at the pair matrix: one slow pair is a link, all slow pairs are a setting (peer "
           "access, IOMMU, link power states)";
  }
  if (kind == "local") return "look for other work on the device, and at the memory clock";
  return "look at the generation and width of the PCIe link, and at which NUMA node the memory is";
}

Expectation copy_on_cpu(const Record& record, const Site& site) {
  Expectation expectation;
  const std::string executor = axis_word(record.id, "executor");
  const auto peak = site.peaks.find(copy_peak_name(executor));
  if (peak == site.peaks.end()) {
    expectation.unknown = "the run has no copy peak of this CPU";
  } else if (axis_word(record.id, "kind") != "local") {
    expectation.unknown = "the copy peak is of copies within one device";
  } else if (bytes_of(record) < bytes_of(peak->second.record)) {
    expectation.unknown = "the copy is smaller than the copy peak's, and may sit in the cache";
  } else {
    expectation.bound = peak->second.fastest;
    expectation.measured_bound = true;
    expectation.expected = kCpuCopyShare * peak->second.usual;
    expectation.basis = fmt::format("{:.0f}% of the {:.4g} GB/s that this CPU's copy peak measured",
                                    100 * kCpuCopyShare, peak->second.usual);
    expectation.advice = "look for other load on the memory, and at which NUMA node it is";
  }
  return expectation;
}

// The expectation by the spec's rules. The bound is known.
Expectation by_rules(const Record& record, const Site& site, const Bound& bound) {
  Expectation expectation;
  expectation.bound = bound.gb_per_s;
  const CopyRule* rule = rule_of(record, *site.spec);
  if (rule == nullptr) {
    expectation.unknown =
        fmt::format("what arrives of {} in such a copy is not known", bound.words);
    return expectation;
  }
  if (bytes_of(record) <= 0) {
    expectation.unknown = "the record does not say how large the copy was";
    return expectation;
  }
  if (bytes_of(record) < rule->from_bytes) {
    expectation.unknown = "the copy is small: latency and caches decide";
    return expectation;
  }
  const Cost& cost = record.cost;
  const double bytes = cost.wire_bytes > 0 ? cost.wire_bytes : cost.memory_bytes;
  const double seconds =
      rule->latency_us * 1e-6 + bytes / (rule->efficiency * bound.gb_per_s) / 1e9;
  expectation.expected = bytes / seconds / 1e9;
  expectation.basis = fmt::format("{:.0f}% of {}", 100 * rule->efficiency, bound.words);
  if (rule->latency_us > 0) {
    expectation.basis += fmt::format(" after {:.4g} us", rule->latency_us);
  }
  expectation.advice = advice(record, site);
  return expectation;
}

}  // namespace

Expectation expect_copy(const Record& record, const Site& site) {
  Expectation expectation;
  const bool chosen = axis_number(record.id, "grid") > 0 || axis_number(record.id, "block") > 0;
  if (site.spec == nullptr && !chosen) return copy_on_cpu(record, site);
  if (site.spec != nullptr) {
    const Bound bound = bound_of(record, site);
    if (bound.gb_per_s > 0) expectation = by_rules(record, site, bound);
    if (bound.gb_per_s <= 0) expectation.unknown = bound.words;
  }
  if (chosen) {
    expectation.expected.reset();
    expectation.unknown = "a chosen grid or block is an experiment";
  }
  return expectation;
}

}  // namespace duet
