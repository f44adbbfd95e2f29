// What a copy should reach.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "verdict/expectation.h"

namespace duet {
namespace {

constexpr double kCpuShare = 0.90;  // of the copy peak: a plain copy is nearly all of it
constexpr double kCpuFromBytes = 256.0 * (1 << 20);  // smaller ones may sit in the cache

double bytes_of(const Record& record) { return axis_number(record, "bytes"); }
bool both_ways(const Record& record) { return axis_true(record, "bidirectional"); }

std::string memory_of(const Record& record) {
  for (const char* axis : {"source", "destination"}) {
    const std::string place = axis_word(record, axis);
    if (place == "pinned" || place == "pageable") return place;
  }
  return "";
}

bool fits(const CopyRule& rule, const Record& record) {
  const auto same = [](const std::optional<std::string>& wanted, const std::string& given) {
    return !wanted || *wanted == given;
  };
  return same(rule.kind, axis_word(record, "kind")) &&
         same(rule.executor, axis_word(record, "executor")) &&
         same(rule.issue, axis_word(record, "issue")) &&
         same(rule.pattern, axis_word(record, "pattern")) && same(rule.memory, memory_of(record)) &&
         (!rule.bidirectional || *rule.bidirectional == both_ways(record));
}

struct Bound {
  double gb_per_s = 0;  // 0: none
  std::string words;    // "450 GB/s of 18 x NVLink"
};

Bound peer_bound(const Record& record, const Site& site) {
  const Promise& promise = *site.promise;
  const auto devices = static_cast<double>(devices_of(site.machine).size());
  const bool all = axis_word(record, "pattern") == "all_pairs";
  if (!promise.link) {
    // Over the host's bus each device has its own way up and down; what is between is not promised.
    const double ways = all ? devices : both_ways(record) ? 2 : 1;
    return {
        ways * promise.host_link_gb_per_s,
        fmt::format("the {:.4g} GB/s of {}", ways * promise.host_link_gb_per_s, promise.host_link)};
  }
  const LinkPromise& link = *promise.link;
  const double pair = link.mesh ? link.gb_per_s / link.count : link.gb_per_s;
  const double sent = link.mesh ? pair * (devices - 1) : link.gb_per_s;
  const double rate = all ? devices * sent : both_ways(record) ? 2 * pair : pair;
  const std::string links = link.mesh ? link.kind : fmt::format("{} x {}", link.count, link.kind);
  return {rate, fmt::format("the {:.4g} GB/s of {}{}", rate, links,
                            all                 ? " on all devices"
                            : both_ways(record) ? " both ways"
                                                : "")};
}

Bound bound_of(const Record& record, const Site& site) {
  const Promise& promise = *site.promise;
  const std::string kind = axis_word(record, "kind");
  if (kind == "peer") return peer_bound(record, site);
  if (kind == "local") {
    // What fits in the cache is not bound by memory.
    const double cache = devices_of(site.machine)[0].value("cache_bytes", 0.0);
    if (2 * bytes_of(record) <= 2 * cache) return {};
    return {promise.memory_gb_per_s,
            fmt::format("the {:.4g} GB/s of its memory", promise.memory_gb_per_s)};
  }
  return {promise.host_link_gb_per_s,
          fmt::format("the {:.4g} GB/s of {}", promise.host_link_gb_per_s, promise.host_link)};
}

// Links that are fewer than promised explain a low figure at once.
std::string missing_links(const Record& record, const Site& site) {
  if (!site.promise->link || site.promise->link->mesh) return "";
  const int promised = site.promise->link->count;
  const Record& devices = devices_of(site.machine);
  for (const Record& link : site.machine.value("links", Record::array())) {
    const std::size_t from = link.value("from", std::size_t{0});
    const std::size_t to = link.value("to", std::size_t{0});
    const int count = link.value("count", 0);
    if (from >= devices.size() || to >= devices.size() || count <= 0 || count >= promised) continue;
    const std::string source = devices[from].value("name", "");
    const std::string destination = devices[to].value("name", "");
    const bool concerned =
        axis_word(record, "pattern") == "all_pairs" ||
        (source == axis_word(record, "source") && destination == axis_word(record, "destination"));
    if (!concerned) continue;
    return fmt::format("only {} of {} links are up between {} and {}", count, promised, source,
                       destination);
  }
  return "";
}

std::string advice(const Record& record, const Site& site) {
  const std::string kind = axis_word(record, "kind");
  if (kind == "peer") {
    const std::string links = missing_links(record, site);
    if (!links.empty()) return links;
    return "look at the pair matrix: one slow pair is a link, all slow pairs are a setting (peer "
           "access, IOMMU, link power states)";
  }
  if (kind == "local") return "look for other work on the device, and at the memory clock";
  return "look at the generation and width of the PCIe link, and at which NUMA node the memory is";
}

Expectation on_cpu(const Record& record, const Site& site) {
  Expectation expectation;
  const std::string executor = axis_word(record, "executor");
  const auto peak = site.peaks.gb_per_s.find(executor);
  if (peak == site.peaks.gb_per_s.end()) {
    expectation.unknown = "the run has no copy peak of this CPU";
  } else if (axis_word(record, "kind") != "local") {
    expectation.unknown = "the copy peak is of copies within one device";
  } else if (bytes_of(record) < kCpuFromBytes) {
    expectation.unknown = "the copy may sit in the cache";
  } else {
    expectation.bound = peak->second.fastest;
    expectation.measured_bound = true;
    expectation.expected = kCpuShare * peak->second.usual;
    expectation.basis = fmt::format("{:.0f}% of the {:.4g} GB/s that this CPU's copy peak measured",
                                    100 * kCpuShare, peak->second.usual);
    expectation.advice = "look for other load on the memory, and at which NUMA node it is";
  }
  return expectation;
}

}  // namespace

Expectation expect_copy(const Record& record, const Site& site) {
  if (site.promise == nullptr) return on_cpu(record, site);
  Expectation expectation;
  const Bound bound = bound_of(record, site);
  if (bound.gb_per_s <= 0) {
    expectation.unknown = "the copy fits in the cache";
    return expectation;
  }
  expectation.bound = bound.gb_per_s;
  if (axis_number(record, "grid") > 0 || axis_number(record, "block") > 0) {
    expectation.unknown = "a chosen grid or block is an experiment";
    return expectation;
  }
  for (const CopyRule& rule : site.promise->copies) {
    if (!fits(rule, record)) continue;
    const Cost cost = finished_of(record).cost;
    const double bytes = cost.wire_bytes > 0 ? cost.wire_bytes : cost.memory_bytes;
    if (bytes_of(record) < rule.from_bytes) {
      expectation.unknown = "the copy is small: latency and caches decide";
      return expectation;
    }
    const double seconds =
        rule.latency_us * 1e-6 + bytes / (rule.efficiency * bound.gb_per_s) / 1e9;
    expectation.expected = bytes / seconds / 1e9;
    expectation.basis = fmt::format("{:.0f}% of {}", 100 * rule.efficiency, bound.words);
    if (rule.latency_us > 0) {
      expectation.basis += fmt::format(" after {:.4g} us", rule.latency_us);
    }
    expectation.advice = advice(record, site);
    return expectation;
  }
  expectation.unknown = fmt::format("what arrives of {} in such a copy is not known", bound.words);
  return expectation;
}

}  // namespace duet
