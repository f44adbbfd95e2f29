#include "moe/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "collectives/open_sessions.h"
#include "core/error.h"
#include "moe/moe_work.h"
#include "results/record.h"
#include "timing/fastest.h"
#include "timing/sampler.h"
#include "timing/statistics.h"

namespace duet {
namespace {

// An engine and how rows move by it; of kExpertsAlone they do not.
struct MoeWay {
  std::string engine;
  ExchangeKind exchange = ExchangeKind::all_gather;

  bool is_alone() const { return engine == kExpertsAlone; }
  bool is_fastest() const { return engine == kFastestExchange; }
  bool exchanges() const { return !is_alone() && !is_fastest(); }
  std::string text() const { return fmt::format("{}, {}", engine, duet::name(exchange)); }
};

class MoeCases {
 public:
  MoeCases(Machine& machine, MoeOptions options, std::function<bool()> stop)
      : machine_(machine),
        options_(std::move(options)),
        stop_(std::move(stop)),
        sessions_(machine, options_.processes, options_.node_size, options_.network) {
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
    team().together([&] { engines_ = engines_of(names); });
    for (const MoeShape& shape : options_.shapes) {
      check(shape, team().size());
      for (const TokenRouting& routing : options_.routings) check(routing, shape);
    }
  }

  std::vector<MoeWay> ways() const {
    std::vector<MoeWay> all;
    for (const std::string& engine : options_.engines) {
      if (!MoeWay{engine}.exchanges()) {
        all.push_back({engine});
        continue;
      }
      for (const ExchangeKind exchange : options_.exchanges) all.push_back({engine, exchange});
    }
    return all;
  }

  CaseId id_of(const MoeShape& shape, const TokenRouting& routing, const MoeWay& way) {
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
    if (way.exchanges()) id.axes.set("exchange", std::string(name(way.exchange)));
    if (options_.graph.launches > 0)
      id.axes.set("graph_launches", std::int64_t{options_.graph.launches});
    if (options_.graph.calls > 1) id.axes.set("graph_calls", std::int64_t{options_.graph.calls});
    return id;
  }

  Measurement measure(const MoeShape& shape, const TokenRouting& routing, const MoeWay& way) {
    Measurement result;
    result.id = id_of(shape, routing, way);
    const MoeRoutings& routings = routings_of(shape, routing);
    const MoeWay chosen = way.is_fastest() ? fastest(routings) : way;
    std::vector<MoeWay> ways = {chosen};
    if (chosen.exchanges()) ways.push_back({kExpertsAlone});
    const Works works = works_of(routings, ways);
    std::vector<std::pair<std::string, double>> phases;
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
    if (shape.drops())
      result.metrics.emplace_back("dropped_percent", 100 * routings.dropped_share());
    if (chosen.exchanges()) add_figures(result, sampled, own.rows(0), shape, phases);
    result.notes = {{"gemm_algorithm", own.gemm_algorithm()}};
    if (!own.algorithm().empty()) result.notes.emplace_back("algorithm", own.algorithm());
    if (way.is_fastest()) result.notes.emplace_back("chosen", chosen.text());
    return result;
  }

  void close() { sessions_.close(); }

 private:
  Team& team() { return sessions_.team(); }

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

  // Cases of one shape follow each other.
  const MoeRoutings& routings_of(const MoeShape& shape, const TokenRouting& routing) {
    const std::string key = case_key(id_of(shape, routing, {kExpertsAlone}));
    if (routings_ == nullptr || key != routings_key_) {
      routings_ = std::make_unique<MoeRoutings>(routing, shape, options_.routings_in_turn, team());
      routings_key_ = key;
    }
    return *routings_;
  }

  using Works = std::vector<std::unique_ptr<MoeWork>>;

  Works works_of(const MoeRoutings& routings, const std::vector<MoeWay>& ways) {
    Tuning tuning;
    tuning.seconds = options_.tuning_seconds;
    Works works;
    for (const MoeWay& each : ways) {
      works.push_back(std::make_unique<MoeWork>(team(), routings, each.exchange,
                                                each.is_alone() ? nullptr : &session(each.engine),
                                                options_.graph, tuning));
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

  // Of all engines and exchanges, by turns.
  MoeWay fastest(const MoeRoutings& routings) {
    std::vector<MoeWay> ways;
    for (const CollectiveEngine* engine : engines_) {
      for (const ExchangeKind exchange : options_.exchanges)
        ways.push_back({engine->name(), exchange});
    }
    const Works works = works_of(routings, ways);
    Sampler sampler(team(), stop_);
    return ways[fastest_by_trial(sampler, all_of(works), options_.mode)];
  }

  static void add_figures(Measurement& result, const std::vector<Sampling>& sampled,
                          const ExchangedRows& rows, const MoeShape& shape,
                          const std::vector<std::pair<std::string, double>>& phases) {
    const double layer = summarise(sampled[0].samples).median;
    const double experts = summarise(sampled[1].samples).median;
    result.metrics.emplace_back("added_percent", 100 * (layer / experts - 1));
    result.metrics.emplace_back("experts_alone_seconds", experts);
    for (const auto& [phase, seconds] : phases)
      result.metrics.emplace_back(phase + "_seconds", seconds);
    std::uint64_t wire = 0, logical = 0, multiplied = 0, most = 0;
    for (int rank = 0; rank < rows.ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      wire = std::max({wire, rows.wire_rows_sent(rank), rows.wire_rows_received(rank)});
      logical = std::max<std::uint64_t>(logical, rows.arrivals[at].size());
      most = std::max<std::uint64_t>(most, rows.multiplied[at].size());
      multiplied += rows.multiplied[at].size();
    }
    const double row_bytes =
        static_cast<double>(shape.hidden) * static_cast<double>(size_of(shape.dtype)) / 1e9;
    for (const auto& [phase, seconds] : phases) {
      if ((phase != "dispatch" && phase != "combine") || seconds <= 0) continue;
      result.metrics.emplace_back(phase + "_wire_gb_per_s",
                                  static_cast<double>(wire) * row_bytes / seconds);
      result.metrics.emplace_back(phase + "_logical_gb_per_s",
                                  static_cast<double>(logical) * row_bytes / seconds);
    }
    result.metrics.emplace_back("wire_rows", static_cast<double>(wire));
    result.metrics.emplace_back("rows_max_over_mean", static_cast<double>(most) * rows.ranks /
                                                          static_cast<double>(multiplied));
    const std::vector<std::string>& warnings = sampled[1].warnings;
    result.warnings.insert(result.warnings.end(), warnings.begin(), warnings.end());
  }

  Machine& machine_;
  MoeOptions options_;
  std::function<bool()> stop_;
  OpenSessions sessions_;
  std::vector<CollectiveEngine*> engines_;
  std::string routings_key_;
  std::unique_ptr<MoeRoutings> routings_;  // of the last case
};

}  // namespace

Benchmark moe_benchmark(Machine& machine, const MoeOptions& options, std::function<bool()> stop) {
  const auto cases = std::make_shared<MoeCases>(machine, options, std::move(stop));
  Benchmark benchmark;
  for (const MoeShape& shape : options.shapes) {
    for (const TokenRouting& routing : options.routings) {
      for (const MoeWay& way : cases->ways()) {
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
