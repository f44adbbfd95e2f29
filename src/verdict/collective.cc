// What the bus bandwidth of a collective should be.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "verdict/expectation.h"
#include "verdict/peer_links.h"

namespace duet {
namespace {

bool fits(const CollectiveRule& rule, const Record& record) {
  const auto& names = rule.collectives;
  const bool named =
      std::find(names.begin(), names.end(), axis_word(record, "collective")) != names.end();
  return named && (!rule.engine || *rule.engine == record["engine"]);
}

// A switch that reduces and multiplies has each rank of an all_reduce send and receive its buffer
// once, which the bus bandwidth counts 2 (n - 1) / n times. All others send or receive what it
// counts, whoever reduces.
double most(const std::string& collective, const Site& site, double ranks, double sending) {
  const bool in_switch = collective == "all_reduce" && !site.promise->link->mesh;
  return in_switch ? std::max(1.0, 2 * (ranks - 1) / ranks) * sending : sending;
}

// Why there is no figure, if so.
std::string unjudged(const Record& record, const Site& site) {
  if (site.promise == nullptr) return "what a CPU should reach in a collective is not known";
  const double ranks = axis_number(record, "ranks");
  if (ranks < 2) return "one rank sends nothing";
  if (static_cast<std::size_t>(ranks) != devices_of(site.machine).size()) {
    return "the ranks are not the machine's devices";
  }
  if (axis_word(record, "collective") == "all_to_all_v") {
    return "how much of an all_to_all_v stays on its rank is not in the record";
  }
  return finished_of(record).cost.bus_bytes > 0 ? "" : "the record has no bus bytes";
}

}  // namespace

Expectation expect_collective(const Record& record, const Site& site) {
  Expectation expectation;
  expectation.unknown = unjudged(record, site);
  if (!expectation.unknown.empty()) return expectation;
  const std::string collective = axis_word(record, "collective");
  const Bound sending = sending_bound(site, collective == "send_recv");
  expectation.unknown = sending.words;
  if (sending.gb_per_s <= 0) return expectation;
  expectation.bound = most(collective, site, axis_number(record, "ranks"), sending.gb_per_s);
  const auto& rules = site.promise->collectives;
  const auto rule = std::find_if(rules.begin(), rules.end(),
                                 [&](const CollectiveRule& one) { return fits(one, record); });
  if (rule == rules.end()) {
    expectation.unknown =
        fmt::format("what arrives of {} in {} is not known", sending.words, collective);
  } else if (finished_of(record).cost.bus_bytes < rule->from_bytes) {
    expectation.unknown = "the collective is small: latency decides";
  } else {
    expectation.expected = rule->efficiency * sending.gb_per_s;
    expectation.basis = fmt::format("{:.0f}% of {}", 100 * rule->efficiency, sending.words);
    expectation.advice =
        "look at all pairs of `duet copy`, which use the same links without a collective's order";
  }
  return expectation;
}

}  // namespace duet
