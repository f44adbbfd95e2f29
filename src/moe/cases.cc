#include "moe/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "collectives/open_sessions.h"
#include "core/error.h"
#include "moe/figures.h"
#include "moe/moe_work.h"
#include "results/record.h"
#include "timing/fastest.h"
#include "timing/sampler.h"

namespace duet {
namespace {

// An engine and how rows move by it; of kExpertsAlone they do not.
struct MoeChoice {
  std::string engine;
  ExchangeKind exchange = ExchangeKind::all_gather;
  MoeOverlap overlap = MoeOverlap::none;
  MoeCounts counts = MoeCounts::known;

  bool is_alone() const { return engine == kExpertsAlone; }
  bool is_fastest() const { return engine == kFastestExchange; }
  bool exchanges() const { return !is_alone() && !is_fastest(); }
  std::string text() const {
    std::string words = fmt::format("{}, {}", engine, duet::name(exchange));
    if (counts == MoeCounts::host) words += ", counts for hosts";
    if (overlaps()) words += fmt::format(", overlap {}", duet::name(overlap));
    return words;
  }
  bool overlaps() const { return overlap != MoeOverlap::none; }
};

// Throws UsageError.
void check(MoeOverlap overlap, const MoeShape& shape) {
  if (overlap == MoeOverlap::halves && shape.tokens % 2 != 0) {
    throw UsageError(
        fmt::format("--overlap halves: {} tokens: expected an even number", shape.tokens));
  }
  if (overlap == MoeOverlap::beside && shape.shared == 0 && !shape.trains) {
    throw UsageError(
        "--overlap beside: expected --shared-experts or --pass train, whose products need no "
        "exchange");
  }
}

class MoeCases {
 public:
  MoeCases(Machine& machine, MoeOptions options, std::function<bool()> stop)
      : machine_(machine),
        options_(std::move(options)),
        stop_(std::move(stop)),
        sessions_(machine, options_.processes, options_.node_size, options_.network),
        nodes_(NodeMap::of(sessions_.team())) {
    std::vector<std::string> names;
    for (const std::string& each : options_.engines) {
      if (each != kExpertsAlone && each != kFastestExchange) names.push_back(each);
    }
    if (options_.engines.empty())
      options_.engines = {kExpertsAlone, usual_engine(machine.device(0).info().kind), "dma",
                          "kernel"};
    if (names.empty()) names = {usual_engine(machine.device(0).info().kind), "dma", "kernel"};
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    remove_twins(options_.engines);
    take_exchanges();
    if (tells_hosts() && options_.graph.launches > 0)
      throw UsageError("--counts host: expected without -G: a graph cannot wait for hosts");
    team().together([&] { engines_ = engines_of(names); });
    for (const MoeShape& shape : options_.shapes) {
      check(shape, team().size());
      for (const TokenRouting& routing : options_.routings) check(routing, shape);
      for (const MoeOverlap overlap : options_.overlaps) check(overlap, shape);
    }
  }

  std::vector<MoeChoice> ways() const {
    std::vector<MoeChoice> all;
    for (const std::string& engine : options_.engines) {
      if (!MoeChoice{engine}.exchanges()) {
        all.push_back({engine});
        continue;
      }
      add_exchanges(engine, all);
    }
    return all;
  }

  CaseId id_of(const MoeShape& shape, const TokenRouting& routing, const MoeChoice& way) {
    CaseId id{"moe",
              options_.device_name,
              way.engine,
              {{"model", shape.part},
               {"tokens", shape.tokens},
               {"hidden", shape.hidden},
               {"width", shape.width},
               {"experts", shape.experts},
               {"top_k", shape.chosen},
               {"dtype", std::string(name(shape.dtype))},
               {"routing", routing.text()},
               {"ranks", std::int64_t{team().size()}}}};
    const auto drops = [](const MoeShape& each) { return each.drops(); };
    if (std::any_of(options_.shapes.begin(), options_.shapes.end(), drops))
      id.axes.set("capacity", shape.drops() ? fmt::format("{}", shape.capacity_factor) : "none");
    const auto trains = [](const MoeShape& each) { return each.trains; };
    if (std::any_of(options_.shapes.begin(), options_.shapes.end(), trains))
      id.axes.set("pass", shape.trains ? "train" : "forward");
    const auto in_fp8 = [](const MoeShape& each) { return each.fp8_rows; };
    if (std::any_of(options_.shapes.begin(), options_.shapes.end(), in_fp8))
      id.axes.set("dispatch_dtype", std::string(shape.fp8_rows ? "fp8" : name(shape.dtype)));
    if (shape.shared > 0) id.axes.set("shared_experts", shape.shared);
    if (way.exchanges()) id.axes.set("exchange", std::string(name(way.exchange)));
    const auto overlaps = [](MoeOverlap each) { return each != MoeOverlap::none; };
    if (way.exchanges() &&
        std::any_of(options_.overlaps.begin(), options_.overlaps.end(), overlaps))
      id.axes.set("overlap", std::string(name(way.overlap)));
    if (way.exchanges() && tells_hosts()) {
      const bool has_counts = way.exchange != ExchangeKind::all_gather;
      id.axes.set("counts", std::string(has_counts ? name(way.counts) : "none"));
    }
    if (options_.graph.launches > 0)
      id.axes.set("graph_launches", std::int64_t{options_.graph.launches});
    if (options_.graph.calls > 1) id.axes.set("graph_calls", std::int64_t{options_.graph.calls});
    return id;
  }

  Measurement measure(const MoeShape& shape, const TokenRouting& routing, const MoeChoice& way) {
    Measurement result;
    result.id = id_of(shape, routing, way);
    const MoeChoice chosen = way.is_fastest() ? fastest(shape, routing) : way;
    std::vector<MoeChoice> ways = {chosen};
    if (chosen.exchanges()) ways.push_back({kExpertsAlone});
    if (chosen.overlaps())
      ways.push_back({chosen.engine, chosen.exchange, MoeOverlap::none, chosen.counts});
    const std::string reason = reason_against(chosen);
    if (!reason.empty()) throw Unavailable(reason);
    const Works works = works_of(shape, routing, ways);
    MoePhaseTimes phases;
    const std::vector<Sampling> sampled = by_turns(works, options_.mode, [&](const RunAgain&) {
      if (!chosen.exchanges()) return;
      team().each([&](Rank& rank) {
        auto times = works.front()->time_phases(rank);
        if (rank.local == 0) phases = std::move(times);
      });
    });
    const MoeWork& own = *works.front();
    result.sampling = sampled.front();
    result.cost = own.cost();
    if (shape.drops()) {
      const double dropped =
          routings_of(shape, routing, batches_of(chosen.overlap)).dropped_share();
      result.metrics.emplace_back("dropped_percent", 100 * dropped);
    }
    if (chosen.exchanges()) {
      add_moe_times(result, sampled, phases);
      add_moe_rows(result, own, phases);
    }
    result.notes = {{"gemm_algorithm", own.gemm_algorithm()}};
    if (!own.algorithm().empty()) result.notes.emplace_back("algorithm", own.algorithm());
    if (way.is_fastest()) result.notes.emplace_back("chosen", chosen.text());
    return result;
  }

  void close() { sessions_.close(); }

 private:
  Team& team() { return sessions_.team(); }

  // Throws UsageError.
  void take_exchanges() {
    if (options_.exchanges.empty()) options_.exchanges = all_exchanges(nodes_.nodes());
    for (const ExchangeKind each : options_.exchanges) {
      if (each == ExchangeKind::per_node && nodes_.nodes() == 1)
        throw UsageError("--exchange per-node: expected several nodes, and all ranks are on one");
    }
  }

  static void remove_twins(std::vector<std::string>& names) {
    std::vector<std::string> once;
    for (const std::string& each : names) {
      if (std::find(once.begin(), once.end(), each) == once.end()) once.push_back(each);
    }
    names = once;
  }

  std::vector<CollectiveEngine*> engines_of(const std::vector<std::string>& names) {
    try {
      return engines_named(machine_, names);
    } catch (const UsageError& error) {
      throw UsageError(
          fmt::format("{}; of moe also {}, {}", error.what(), kExpertsAlone, kFastestExchange));
    }
  }

  // Of each of so many batches. Cases of one shape follow each other.
  const MoeRoutings& routings_of(const MoeShape& shape, const TokenRouting& routing,
                                 std::size_t batches) {
    const std::string key = case_key(id_of(shape, routing, {kExpertsAlone}));
    if (key != routings_key_) routings_.clear();
    routings_key_ = key;
    auto& known = routings_[batches];
    if (known == nullptr) {
      MoeShape part = shape;
      part.tokens /= static_cast<std::int64_t>(batches);
      const int count = options_.routings_in_turn * static_cast<int>(batches);
      known = std::make_unique<MoeRoutings>(routing, part, count, team());
    }
    return *known;
  }

  using Works = std::vector<std::unique_ptr<MoeWork>>;

  Works works_of(const MoeShape& shape, const TokenRouting& routing,
                 const std::vector<MoeChoice>& ways) {
    Tuning tuning;
    tuning.seconds = options_.tuning_seconds;
    Works works;
    for (const MoeChoice& each : ways) {
      const MoeWay way{each.is_alone() ? nullptr : &session(each.engine), each.exchange,
                       each.overlap, options_.graph, each.counts};
      works.push_back(std::make_unique<MoeWork>(
          team(), routings_of(shape, routing, batches_of(each.overlap)), way, tuning));
    }
    return works;
  }

  static std::vector<Work*> all_of(const Works& works) {
    std::vector<Work*> all;
    for (const auto& each : works) all.push_back(each.get());
    return all;
  }

  std::vector<Sampling> by_turns(const Works& works, const Mode& mode,
                                 const AfterSamples& after = {}) {
    return Sampler(team(), stop_).measure_by_turns(all_of(works), mode, {}, after);
  }

  CollectiveSession& session(const std::string& name) {
    for (CollectiveEngine* const engine : engines_) {
      if (engine->name() == name) return sessions_.session(*engine);
    }
    throw Unavailable(fmt::format("{} has no engine {}", machine_.name(), name));
  }

  // all_gather has no counts.
  void add_exchanges(const std::string& engine, std::vector<MoeChoice>& ways) const {
    for (const ExchangeKind exchange : options_.exchanges) {
      const bool has_counts = exchange != ExchangeKind::all_gather;
      for (const MoeCounts counts : has_counts ? options_.counts : std::vector{MoeCounts::known}) {
        for (const MoeOverlap overlap : options_.overlaps)
          ways.push_back({engine, exchange, overlap, counts});
      }
    }
  }

  bool tells_hosts() const {
    const std::vector<MoeCounts>& all = options_.counts;
    return std::find(all.begin(), all.end(), MoeCounts::host) != all.end();
  }

  // Why an exchange cannot be made: of the nodes, or of the engine's collectives. "" if it can.
  std::string reason_against(const MoeChoice& way) {
    if (!way.exchanges()) return "";
    std::string reason = why_not(way.exchange, nodes_);
    std::vector<CollectiveKind> kinds = {CollectiveKind::all_to_all_v};
    if (way.exchange == ExchangeKind::all_gather)
      kinds = {CollectiveKind::all_gather, CollectiveKind::reduce_scatter};
    for (const CollectiveKind kind : kinds) {
      if (!reason.empty()) return reason;
      Collective one;
      one.kind = kind;
      const auto skipped = session(way.engine).unsupported(one, false);
      if (skipped) reason = skipped->reason;
    }
    return reason;
  }

  // Of all engines, exchanges and overlaps, by turns.
  MoeChoice fastest(const MoeShape& shape, const TokenRouting& routing) {
    std::vector<MoeChoice> ways;
    for (const CollectiveEngine* engine : engines_) add_exchanges(engine->name(), ways);
    const std::string reason = reason_against(ways.front());
    const auto cannot = [&](const MoeChoice& way) { return !reason_against(way).empty(); };
    ways.erase(std::remove_if(ways.begin(), ways.end(), cannot), ways.end());
    if (ways.empty()) throw Unavailable(reason);
    const Works works = works_of(shape, routing, ways);
    Sampler sampler(team(), stop_);
    return ways[fastest_by_trial(sampler, all_of(works), options_.mode)];
  }

  Machine& machine_;
  MoeOptions options_;
  std::function<bool()> stop_;
  OpenSessions sessions_;
  const NodeMap nodes_;
  std::vector<CollectiveEngine*> engines_;
  std::string routings_key_;
  std::map<std::size_t, std::unique_ptr<MoeRoutings>> routings_;  // of the last case, by batches
};

}  // namespace

Benchmark moe_benchmark(Machine& machine, const MoeOptions& options, std::function<bool()> stop) {
  const auto cases = std::make_shared<MoeCases>(machine, options, std::move(stop));
  Benchmark benchmark;
  for (const MoeShape& shape : options.shapes) {
    for (const TokenRouting& routing : options.routings) {
      for (const MoeChoice& way : cases->ways()) {
        const auto run = [cases, shape, routing, way] {
          try {
            return cases->measure(shape, routing, way);
          } catch (const Unavailable&) {
            throw;
          } catch (...) {
            cases->close();
            throw;
          }
        };
        benchmark.cases.push_back({cases->id_of(shape, routing, way), run, options.mode});
      }
    }
  }
  benchmark.conclude = [cases](const std::vector<Finished>&) {
    cases->close();
    return std::vector<Measurement>{};
  };
  return benchmark;
}

}  // namespace duet
