#include "layers/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "collectives/open_sessions.h"
#include "core/error.h"
#include "gemm/first_engine.h"
#include "layers/bound.h"
#include "layers/layer_work.h"
#include "team/nodes.h"
#include "timing/energy_meter.h"
#include "timing/fastest.h"
#include "timing/power_draw.h"
#include "timing/sampler.h"
#include "timing/statistics.h"

namespace duet {
namespace {

// An engine of layers, and for kPieces one way of it.
struct LayerEngine {
  std::string name;
  int ranges = 0;
  RowSums sums = RowSums::by_compute;
  int streams = 1;
  bool joined = false;
  bool cut_only = false;

  bool is_alone() const { return name == kAlone; }
  bool is_fastest() const { return name == kFastest; }
  std::string text() const {
    if (ranges == 0) return name;
    return fmt::format("{}, ranges {}, sums {}, streams {}{}", name, ranges, duet::name(sums),
                       streams, joined ? ", joined" : "");
  }
};

constexpr int kLeastJoined = 4;  // ranks

std::vector<CollectiveEngine*> engines_of_layers(Machine& machine,
                                                 const std::vector<std::string>& names) {
  try {
    return engines_named(machine, names);
  } catch (const UsageError& error) {
    throw UsageError(
        fmt::format("{}; of layers also {}, {}, {}", error.what(), kAlone, kPieces, kFastest));
  }
}

// The first one, or that of a name, which multiplies all of the layer, also onto what is there.
GemmEngine& gemm_for(Machine& machine, const std::string& name, const Layer& layer, int ranks) {
  std::vector<GemmProblem> problems;
  for (const LayerOperation& operation : layer.operations) {
    if (!multiplies(operation.kind)) continue;
    for (const bool adds : {false, operation.kind != LayerKind::gather_gemm}) {
      problems.push_back(problem_of(operation, ranks));
      problems.back().accumulate = adds;
    }
  }
  return first_gemm_engine(machine.device(0), name, problems, "layer");
}

class LayerCases {
 public:
  LayerCases(Machine& machine, LayerOptions options, std::function<bool()> stop)
      : machine_(machine),
        options_(std::move(options)),
        stop_(std::move(stop)),
        sessions_(machine, options_.processes, options_.node_size, options_.network),
        usual_(usual_engine(machine.device(0).info().kind)),
        spec_(NodeMap::of(team()).nodes() == 1 ? find_device_spec(machine.device(0).info().model)
                                               : nullptr) {
    if (options_.engines.empty()) options_.engines = {kAlone, usual_, kPieces, kFastest};
    std::vector<std::string> names = {usual_, "dma", "kernel"};
    for (const std::string& name : options_.engines) {
      if (name != kAlone && name != kPieces && name != kFastest) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    team().together([&] { engines_ = engines_of_layers(machine, names); });
    require_gemm_engine(machine.device(0).info().kind, options_.gemm);
    for (const Layer& layer : options_.layers) check(layer, team().size());
  }

  // Of a layer, in the order of the engines.
  std::vector<LayerEngine> engines_of(const Layer& layer) {
    std::vector<LayerEngine> all;
    for (const std::string& name : options_.engines) {
      if (name != kPieces) {
        all.push_back({name});
        continue;
      }
      const std::vector<LayerEngine> ways = ways_of(layer);
      all.insert(all.end(), ways.begin(), ways.end());
    }
    return all;
  }

  CaseId id_of(const Layer& layer, const LayerEngine& engine) {
    const LayerOperation& first = layer.operations.front();
    CaseId id{"layer",
              options_.device_name,
              engine.name,
              {{"layer", layer.kind},
               {"part", layer.part},
               {"m", first.m},
               {"n", first.n},
               {"k", first.k},
               {"dtype", std::string(name(first.dtype))},
               {"ranks", std::int64_t{team().size()}}}};
    if (engine.ranges > 0) {
      id.axes.set("ranges", std::int64_t{engine.ranges});
      id.axes.set("sums", std::string(name(engine.sums)));
      id.axes.set("streams", std::int64_t{engine.streams});
      if (engine.joined) id.axes.set("joined", std::string("yes"));
    }
    if (options_.graph.launches > 0)
      id.axes.set("graph_launches", std::int64_t{options_.graph.launches});
    if (options_.graph.calls > 1) id.axes.set("graph_calls", std::int64_t{options_.graph.calls});
    return id;
  }

  Measurement measure(const Layer& layer, const LayerEngine& engine) {
    Measurement result;
    result.id = id_of(layer, engine);
    GemmEngine& gemm = gemm_for(machine_, options_.gemm, layer, team().size());
    const LayerEngine chosen = engine.is_fastest() ? fastest(layer, gemm) : engine;
    std::vector<LayerEngine> ways = {chosen};
    if (!chosen.is_alone()) ways.push_back({kAlone});
    if (!chosen.is_alone() && chosen.name != usual_) ways.push_back({usual_});
    if (chosen.ranges > 0) {
      ways.push_back(chosen);
      ways.back().cut_only = true;
    }
    const Works works = works_of(layer, gemm, ways);
    Measurement besides;
    const std::vector<Sampling> sampled =
        by_turns(works, options_.mode, [&](const RunAgain& again) {
          if (!chosen.is_alone() && multiplies(layer.operations.front().kind))
            add_timeline(besides, *works.front());
          if (options_.energy_seconds > 0) add_energy(besides, again);
        });
    result.sampling = sampled.front();
    const LayerWork& own = *works.front();
    result.cost = own.cost();
    if (works.size() > 1) add_figures(result, layer, sampled);
    result.metrics.insert(result.metrics.end(), besides.metrics.begin(), besides.metrics.end());
    result.warnings.insert(result.warnings.end(), besides.warnings.begin(), besides.warnings.end());
    result.curves = besides.curves;
    if (!own.gemm_algorithm().empty())
      result.notes = {{"gemm", gemm.name()}, {"gemm_algorithm", own.gemm_algorithm()}};
    if (!own.algorithm().empty()) result.notes.emplace_back("algorithm", own.algorithm());
    if (ways.size() > 2) result.notes.emplace_back("serial", usual_);
    if (engine.is_fastest()) result.notes.emplace_back("chosen", chosen.text());
    return result;
  }

  void close() { sessions_.close(); }

 private:
  Team& team() { return sessions_.team(); }

  // Ways of adding differ only where something is added. What is not multiplied has no pieces.
  std::vector<LayerEngine> ways_of(const Layer& layer) {
    std::vector<LayerEngine> ways;
    if (!multiplies(layer.operations.front().kind)) return ways;
    const bool gathers = layer.operations[0].kind == LayerKind::gather_gemm,
               adds = layer.operations.back().kind != LayerKind::gather_gemm;
    for (const int ranges : options_.ranges) {
      for (const RowSums sums : options_.sums) {
        if (!adds && sums != options_.sums.front()) continue;
        for (const int streams : options_.streams) {
          for (const bool joined : options_.joined) {
            if (joined && !(gathers && can_join(ranges))) continue;
            ways.push_back({kPieces, ranges, adds ? sums : RowSums::by_compute, streams, joined});
          }
        }
      }
    }
    return ways;
  }

  // Rows of fewer ranks are joined with few others, and ranges of a rank are sent to be multiplied
  // apart.
  bool can_join(int ranges) { return ranges == 1 && team().size() >= kLeastJoined; }

  using Works = std::vector<std::unique_ptr<LayerWork>>;

  Works works_of(const Layer& layer, GemmEngine& gemm, const std::vector<LayerEngine>& ways) {
    Tuning tuning;
    tuning.seconds = options_.tuning_seconds;
    Works works;
    for (const LayerEngine& each : ways) {
      LayerWay way{nullptr,        each.ranges,   each.sums,  each.streams,
                   options_.graph, each.cut_only, each.joined};
      if (!each.is_alone()) way.session = &session(each.name == kPieces ? "dma" : each.name);
      works.push_back(std::make_unique<LayerWork>(team(), gemm, layer, way, tuning));
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

  // How long the slowest rank waits for its first rows, and for what follows its last ones.
  void add_timeline(Measurement& result, LayerWork& work) {
    std::vector<LayerWork::Times> ranks;
    team().each([&](Rank& rank) {
      auto times = work.time_call(rank);
      if (rank.local == 0) ranks = std::move(times);
    });
    double wait = 0, tail = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const std::vector<double>& gemms = ranks[rank].gemms;
      result.curves.emplace_back(fmt::format("gemms_of_rank_{}", rank), gemms);
      double first = gemms.front(), last = 0;  // two streams may end in another order
      for (std::size_t i = 0; i < gemms.size(); ++i) {
        first = std::min(first, gemms[i]);
        last = std::max(last, gemms[i]);
      }
      wait = std::max(wait, first);
      tail = std::max(tail, ranks[rank].end - last);
    }
    result.metrics.emplace_back("first_wait_seconds", wait);
    result.metrics.emplace_back("tail_seconds", tail);
  }

  // Of a group of calls, behind and before others.
  void add_energy(Measurement& result, const RunAgain& again) {
    const EnergySource energy = energy_source(team());
    if (energy.counters.empty()) {
      result.warnings.push_back("no energy: " + energy.unavailable);
      return;
    }
    const PowerDraw draw =
        power_draw(energy.counters, options_.energy_seconds, options_.mode.deadline_seconds, again);
    result.metrics.emplace_back("joules", draw.joules(0));
    result.metrics.emplace_back("watts", draw.watts);
  }

  CollectiveSession& session(const std::string& name) {
    for (CollectiveEngine* const engine : engines_) {
      if (engine->name() == name) return sessions_.session(*engine);
    }
    throw Unavailable(fmt::format("{} has no engine {}", machine_.name(), name));
  }

  // Of the serial ways and all pieces, by turns.
  LayerEngine fastest(const Layer& layer, GemmEngine& gemm) {
    std::vector<LayerEngine> ways = ways_of(layer);
    for (const CollectiveEngine* engine : engines_) ways.push_back({engine->name()});
    const Works works = works_of(layer, gemm, ways);
    Sampler sampler(team(), stop_);
    return ways[fastest_by_trial(sampler, all_of(works), options_.mode)];
  }

  // `sampled`: of the case and of the multiplication alone; then, where that is another, of the
  // serial way; then, of pieces, of what they multiply.
  void add_figures(Measurement& result, const Layer& layer, const std::vector<Sampling>& sampled) {
    const auto median = [&](std::size_t of) { return summarise(sampled[of].samples).median; };
    const double together = median(0), gemm = median(1);
    result.metrics = {{"added_percent", 100 * (together / gemm - 1)},
                      {"gemm_seconds", gemm},
                      {"added_seconds", together - gemm}};
    const auto bound =
        spec_ != nullptr ? bound_seconds(layer, team().size(), gemm, *spec_) : std::nullopt;
    if (bound) result.metrics.emplace_back("bound_seconds", *bound);
    if (sampled.size() > 2) {
      result.metrics.emplace_back("serial_seconds", median(2));
      if (median(2) > gemm)
        result.metrics.emplace_back("hidden", 1 - (together - gemm) / (median(2) - gemm));
    }
    if (sampled.size() > 3) result.metrics.emplace_back("cut_seconds", median(3));
    for (std::size_t other = 1; other < std::min<std::size_t>(3, sampled.size()); ++other) {
      const std::vector<std::string>& warnings = sampled[other].warnings;
      result.warnings.insert(result.warnings.end(), warnings.begin(), warnings.end());
    }
  }

  Machine& machine_;
  LayerOptions options_;
  std::function<bool()> stop_;
  OpenSessions sessions_;
  const std::string usual_;
  const DeviceSpec* const spec_;  // nullptr: no bound is known
  std::vector<CollectiveEngine*> engines_;
};

}  // namespace

Benchmark layer_benchmark(Machine& machine, const LayerOptions& options,
                          std::function<bool()> stop) {
  const auto cases = std::make_shared<LayerCases>(machine, options, std::move(stop));
  Benchmark benchmark;
  for (const Layer& layer : options.layers) {
    for (const LayerEngine& engine : cases->engines_of(layer)) {
      const auto run = [cases, layer, engine] {
        try {
          return cases->measure(layer, engine);
        } catch (const Unavailable&) {
          throw;
        } catch (...) {
          cases->close();
          throw;
        }
      };
      benchmark.cases.push_back({cases->id_of(layer, engine), run, options.mode});
    }
  }
  benchmark.conclude = [cases](const std::vector<Finished>&) {
    cases->close();
    return std::vector<Measurement>{};
  };
  return benchmark;
}

}  // namespace duet
