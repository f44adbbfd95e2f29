#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "collectives/cost.h"
#include "collectives/workload.h"
#include "timing/work.h"
#include "verdict/peer_links.h"

namespace duet {
namespace {

// nccl-tests measures NCCL, so what is known of NCCL is expected of it too.
std::string engine_of(const Record& record) {
  return record.id.engine == "nccl-tests" ? "nccl" : record.id.engine;
}

// nccl-tests times many calls behind each other.
bool is_in_a_row(const Record& record) {
  return record.mode == "loop" || record.id.engine == "nccl-tests";
}

bool fits(const CollectiveLine& line, const Record& record, bool in_a_row) {
  return line.collective == axis_word(record.id, "collective") &&
         line.engine == engine_of(record) &&
         (line.most_ranks == 0 || axis_number(record.id, "ranks") <= line.most_ranks) &&
         (!line.in_place || *line.in_place == axis_true(record.id, "in_place")) &&
         line.in_a_row == in_a_row;
}

// The first line of calls in a row, or one by one, that fits; nullptr if there is none.
const CollectiveLine* line_of(const Site& site, const Record& record, bool in_a_row) {
  for (const CollectiveLine& line : site.spec->collectives) {
    if (fits(line, record, in_a_row)) return &line;
  }
  return nullptr;
}

// The line that a record is compared with. Long calls take as long in a row as one by one.
const CollectiveLine* line_of(const Site& site, const Record& record, double bytes) {
  constexpr double kLongSeconds = 1e-4;
  const CollectiveLine* own = line_of(site, record, is_in_a_row(record));
  if (!is_in_a_row(record) || (own != nullptr && own->at(bytes))) return own;
  const CollectiveLine* single = line_of(site, record, false);
  const auto rate = single != nullptr ? single->at(bytes) : std::nullopt;
  return rate && bytes / *rate / 1e9 >= kLongSeconds ? single : own;
}

// The highest possible bus bandwidth of a collective. Bus bandwidth counts the buffer of an
// all_reduce 2 (n - 1) / n times. With a switch that reduces and multicasts, each rank sends and
// receives its buffer only once. In all other cases ranks send or receive as many bytes as bus
// bandwidth counts.
double most(const std::string& collective, const Site& site, double ranks, double sending) {
  const bool in_switch = collective == "all_reduce" && !site.spec->link->mesh;
  return in_switch ? std::max(1.0, 2 * (ranks - 1) / ranks) * sending : sending;
}

// Why no figure is expected of the record, by the record and the site alone; "" if one may be.
std::string unjudged(const Record& record, const Site& site) {
  if (site.spec == nullptr) return "what a CPU should reach in a collective is not known";
  const double ranks = axis_number(record.id, "ranks");
  if (ranks < 2) return "one rank sends nothing";
  if (static_cast<std::size_t>(ranks) != site.machine.devices.size()) {
    return "the ranks are not the machine's devices";
  }
  if (axis_number(record.id, "groups") > 1) return "several communicators run at the same time";
  if (axis_word(record.id, "collective") == "all_to_all_v") {
    return "how much of an all_to_all_v stays on its rank is not in the record";
  }
  return record.cost.more.value(kBusBytes) > 0 ? "" : "the record has no bus bytes";
}

constexpr const char* kAdvice =
    "look at all pairs of `duet copy`, which use the same links without a collective's order";

// Sets the figure that is expected by what healthy machines reached, or the reason why none is.
void by_lines(Expectation& expectation, const Record& record, const Site& site) {
  const double bytes = record.cost.more.value(kBusBytes);
  const CollectiveLine* line = line_of(site, record, bytes);
  if (line == nullptr) {
    expectation.unknown =
        fmt::format("what {} by {} reaches on healthy machines was not measured{}",
                    axis_word(record.id, "collective"), engine_of(record),
                    is_in_a_row(record) ? " in calls behind each other" : "");
  } else if (axis_number(record.id, "graph_launches") > 0) {
    expectation.unknown = "what arrives in calls that are captured is not known";
  } else if (!(expectation.expected = line->at(bytes))) {
    expectation.unknown =
        "healthy machines were not measured with calls as small, or differ too much in them";
  } else {
    expectation.basis = fmt::format(
        "by {} on the slowest of the healthy machines that were measured, which differ by up to "
        "{:.0f}%",
        engine_of(record), 100 * (line->spread - 1));
    expectation.advice = kAdvice;
  }
}

// What the slower of an engine's executors reaches of a link in pushes; 0: not known.
double push_efficiency(const DeviceSpec& spec, const std::string& engine) {
  double least = 0;
  for (const std::string executor : {"dma", "kernel"}) {
    if (engine != executor && engine != "auto") continue;
    const CopyRule* rule = find_copy_rule(spec, {"peer", executor, "push", "pair", "", true});
    if (rule == nullptr) return 0;
    least = least > 0 ? std::min(least, rule->efficiency) : rule->efficiency;
  }
  return least;
}

// Of a neighbor_exchange that has no line. Each rank pushes a chunk to each of two peers, or of two
// ranks both to one: it takes as long as these copies and some signals, which cost up to 40 us on
// H200.
void by_pushes(Expectation& expectation, const Record& record, const Site& site,
               const Bound& sending) {
  constexpr double kSignalsDecide = 4e-4;  // seconds of the whole call, and below
  const double efficiency = push_efficiency(*site.spec, record.id.engine);
  const double expected = efficiency * sending.gb_per_s;
  if (efficiency <= 0) {
    expectation.unknown =
        fmt::format("what {} reaches of {} is not known", record.id.engine, sending.words);
  } else if (axis_number(record.id, "graph_launches") > 0) {
    expectation.unknown = "what arrives in calls that are captured is not known";
  } else if (record.cost.more.value(kBusBytes) / expected / 1e9 < kSignalsDecide) {
    expectation.unknown = "the chunks are small: latency decides";
  } else {
    expectation.expected = expected;
    expectation.basis = fmt::format("{:.0f}% of {}", 100 * efficiency, sending.words);
    expectation.advice = kAdvice;
  }
}

// Over nodes: shares of the rails' rate (as those of fabric) and of a device's links within its
// node (copies between H200s reach 0.87), when both carry pieces of one call at the same time.
// Reductions wait for kernels between the two.
constexpr double kOfRails = 0.95, kOfLinks = 0.85, kOfReductions = 0.92;
constexpr double kLatencyDecides = 2e-3;  // seconds of the whole call, and below

// By what the engine sends between nodes and within them, each over its own links.
Expectation over_nodes(const Record& record, const Site& site) {
  Expectation expectation;
  const Cost& cost = record.cost;
  const double network = cost.more.value(kNetworkBytes), link = cost.more.value(kLinkGbitPerS);
  if (link <= 0) {
    expectation.unknown = "the rails' speed is not known: --link-gbit says it";
    return expectation;
  }
  const std::string collective = axis_word(record.id, "collective");
  if (collective == "broadcast") {
    expectation.unknown = "only the root's node sends: what that should reach is not known";
    return expectation;
  }
  if (collective == "neighbor_exchange") {
    expectation.unknown =
        "only ranks beside another node's use their rails: what these should reach is not known";
    return expectation;
  }
  if (collective == "all_to_all_v" && axis_word(record.id, "layout") != "even") {
    expectation.unknown =
        "how much of an all_to_all_v the busiest rails carry is not in the record";
    return expectation;
  }
  const bool reduced = collective == "all_reduce" || collective == "reduce_scatter";
  const bool linked = site.spec != nullptr && site.spec->link;
  const double rails = 8 * network / link / 1e9;
  const double inside = (cost.wire_bytes - network) / axis_number(record.id, "ranks");
  const double links = linked ? inside / site.spec->link->gb_per_s / 1e9 : 0;
  const double least = std::max(rails, links);
  expectation.bound = cost.more.value(kBusBytes) / least / 1e9;
  if (reduced && site.spec == nullptr) {
    expectation.unknown = "what a CPU should reach in a reduction is not known";
  } else if (axis_number(record.id, "graph_launches") > 0) {
    expectation.unknown = "what arrives in calls that are captured is not known";
  } else if (least < kLatencyDecides) {
    expectation.unknown = "the collective is small: latency decides";
  } else {
    const double share = reduced ? kOfReductions : 1;
    const double seconds = std::max(rails / kOfRails, links / kOfLinks) / share;
    expectation.expected = cost.more.value(kBusBytes) / seconds / 1e9;
    expectation.basis =
        fmt::format("{:.0f}% of what {} at least, {:.4g} ms", 100 * least / seconds,
                    rails > links ? "the rails take" : "links in the node take", 1e3 * least);
    expectation.advice = "look at the rails alone (`duet fabric`) and at the collective in a node";
  }
  return expectation;
}

}  // namespace

Expectation expect_collective(const Record& record, const Site& site) {
  if (record.cost.more.value(kNetworkBytes) > 0) return over_nodes(record, site);
  Expectation expectation;
  expectation.unknown = unjudged(record, site);
  if (!expectation.unknown.empty()) return expectation;
  const std::string collective = axis_word(record.id, "collective");
  const bool exchanges = collective == "neighbor_exchange";
  const std::size_t peers = exchanges ? 2 : collective == "send_recv" ? 1 : SIZE_MAX;
  const Bound sending = sending_bound(site, peers);
  expectation.unknown = sending.words;
  if (sending.gb_per_s <= 0) return expectation;
  expectation.bound = most(collective, site, axis_number(record.id, "ranks"), sending.gb_per_s);
  if (exchanges && line_of(site, record, record.cost.more.value(kBusBytes)) == nullptr) {
    by_pushes(expectation, record, site, sending);
  } else {
    by_lines(expectation, record, site);
  }
  return expectation;
}

}  // namespace duet
