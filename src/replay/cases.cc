#include "replay/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "collectives/open_sessions.h"
#include "core/error.h"
#include "gemm/first_engine.h"
#include "gemm/gemm_work.h"
#include "replay/replay_step.h"
#include "replay/replay_work.h"
#include "timing/sampler.h"
#include "timing/statistics.h"

namespace duet {
namespace {

class ReplayCases {
 public:
  ReplayCases(Machine& machine, ReplayOptions options, std::function<bool()> stop)
      : machine_(machine),
        options_(std::move(options)),
        stop_(std::move(stop)),
        sessions_(machine, options_.processes, options_.node_size, options_.network) {
    team().together([&] { engines_ = engines_named(machine, options_.engines); });
    if (options_.engines.empty()) leave_out_drop_in();
    const std::string usual = usual_engine(machine.device(0).info().kind);
    std::stable_partition(engines_.begin(), engines_.end(),
                          [&](const CollectiveEngine* engine) { return engine->name() == usual; });
    require_gemm_engine(machine.device(0).info().kind, options_.gemm);
    for (const ReplayTrace& trace : options_.traces)
      steps_.push_back(replay_step(trace.recorded, team().size()));
  }

  struct GemmCase {
    std::size_t trace, gemm;
  };
  struct CollectiveCase {
    std::size_t trace, collective;
    CollectiveEngine* engine;
  };
  struct StepCase {
    std::size_t trace;
    CollectiveEngine* engine;  // null: the step has no collectives
    ReplayOrder order;
  };

  std::vector<GemmCase> gemm_cases() const {
    std::vector<GemmCase> all;
    for (std::size_t trace = 0; trace < steps_.size() && options_.parts.gemms; ++trace) {
      for (std::size_t i = 0; i < steps_[trace].gemms.size(); ++i) all.push_back({trace, i});
    }
    return all;
  }

  std::vector<CollectiveCase> collective_cases() const {
    std::vector<CollectiveCase> all;
    for (std::size_t trace = 0; trace < steps_.size() && options_.parts.collectives; ++trace) {
      for (std::size_t i = 0; i < steps_[trace].collectives.size(); ++i) {
        for (CollectiveEngine* const engine : engines_) all.push_back({trace, i, engine});
      }
    }
    return all;
  }

  // Of one kind of call there is one order.
  std::vector<StepCase> step_cases() const {
    std::vector<StepCase> all;
    for (std::size_t trace = 0; trace < steps_.size() && options_.parts.step; ++trace) {
      const ReplayStep& step = steps_[trace];
      if (step.collectives.empty()) {
        all.push_back({trace, nullptr, ReplayOrder::serial});
        continue;
      }
      for (const ReplayOrder order : {ReplayOrder::serial, ReplayOrder::overlapped}) {
        if (order == ReplayOrder::overlapped && step.gemms.empty()) continue;
        for (CollectiveEngine* const engine : engines_) all.push_back({trace, engine, order});
      }
    }
    return all;
  }

  CaseId id_of(const GemmCase& one) {
    const ReplayGemm& gemm = steps_[one.trace].gemms[one.gemm];
    const GemmProblem& p = gemm.problem;
    CaseId id = id_of("replay_gemm", one.trace, gemm_engine_name(p));
    id.axes.set("m", p.m);
    id.axes.set("n", p.n);
    id.axes.set("k", p.k);
    id.axes.set("dtype", std::string(name(p.dtype)));
    id.axes.set("layout", std::string(name(p.layout)));
    return with_calls(id, gemm.recorded.calls);
  }

  CaseId id_of(const CollectiveCase& one) {
    const ReplayCollective& call = steps_[one.trace].collectives[one.collective];
    CaseId id = id_of("replay_collective", one.trace, one.engine->name());
    id.axes.set("collective", std::string(name(call.collective.kind)));
    id.axes.set("type", std::string(name(call.collective.dtype)));
    id.axes.set("bytes", static_cast<std::int64_t>(size_bytes(call.collective, team().size())));
    return with_calls(id, call.recorded.calls);
  }

  CaseId id_of(const StepCase& one) {
    const ReplayStep& step = steps_[one.trace];
    CaseId id =
        id_of("replay", one.trace, one.engine == nullptr ? kNoCollectives : one.engine->name());
    const RecordedTrace& recorded = options_.traces[one.trace].recorded;
    if (recorded.steps.size() == 1) id.axes.set("step", recorded.steps.front().number);
    id.axes.set("order", std::string(name(one.order)));
    id.axes.set("gemms", std::int64_t{step.gemm_calls()});
    id.axes.set("collectives", std::int64_t{step.collective_calls()});
    id.axes.set("ranks", std::int64_t{team().size()});
    if (options_.graph.launches > 0)
      id.axes.set("graph_launches", std::int64_t{options_.graph.launches});
    if (options_.graph.calls > 1) id.axes.set("graph_calls", std::int64_t{options_.graph.calls});
    return id;
  }

  Measurement measure(const GemmCase& one) {
    Measurement result;
    result.id = id_of(one);
    const ReplayGemm& gemm = steps_[one.trace].gemms[one.gemm];
    GemmWork work(gemm_engine(gemm.problem), gemm.problem, tuning(), team().size());
    result.cost = work.cost();
    result.sampling = Sampler(team(), stop_).measure(work, options_.mode);
    if (!work.algorithm().empty()) result.notes.emplace_back("algorithm", work.algorithm());
    add_recorded(result, gemm.recorded);
    return result;
  }

  Measurement measure(const CollectiveCase& one) {
    Measurement result;
    result.id = id_of(one);
    const ReplayCollective& call = steps_[one.trace].collectives[one.collective];
    CollectiveSession& session = sessions_.session(*one.engine);
    result.skipped = session.unsupported(call.collective, false);
    if (result.skipped) return result;
    CollectiveWork work(team(), session, call.collective, false);
    result.sampling = Sampler(team(), stop_).measure(work, options_.mode);
    result.cost = work.cost();
    result.warnings = session.take_warnings();
    if (!work.algorithm().empty()) result.notes.emplace_back("algorithm", work.algorithm());
    if (call.recorded_ranks > 0)
      result.notes.emplace_back("recorded_ranks", std::to_string(call.recorded_ranks));
    add_recorded(result, call.recorded);
    return result;
  }

  Measurement measure(const StepCase& one) {
    Measurement result;
    result.id = id_of(one);
    const ReplayStep& step = steps_[one.trace];
    CollectiveSession* const session =
        one.engine == nullptr ? nullptr : &sessions_.session(*one.engine);
    for (const ReplayCollective& each : step.collectives) {
      if (!result.skipped) result.skipped = session->unsupported(each.collective, false);
    }
    if (!result.skipped && options_.graph.launches > 0 && session != nullptr)
      result.skipped = session->uncapturable();
    if (result.skipped) return result;
    std::vector<GemmEngine*> gemms;
    for (const ReplayGemm& each : step.gemms) gemms.push_back(&gemm_engine(each.problem));
    ReplayPlans plans(team(), step, gemms, session, tuning());
    measure_by_turns(result, plans, one.order);
    if (session != nullptr) {
      for (const std::string& each : session->take_warnings()) result.warnings.push_back(each);
    }
    add_notes(result, one.trace);
    return result;
  }

  void close() { sessions_.close(); }

 private:
  Team& team() { return sessions_.team(); }

  // It keeps mappings of peers' memory that has been freed, and other engines could not map what
  // has come to the same address since.
  void leave_out_drop_in() {
    const auto is_drop_in = [](const CollectiveEngine* engine) {
      return engine->name() == "nccl-duet";
    };
    engines_.erase(std::remove_if(engines_.begin(), engines_.end(), is_drop_in), engines_.end());
  }

  Tuning tuning() const {
    Tuning tuning;
    tuning.seconds = options_.tuning_seconds;
    return tuning;
  }

  GemmEngine& gemm_engine(const GemmProblem& problem) {
    return first_gemm_engine(machine_.device(0), options_.gemm, {problem}, "replay");
  }
  // "none" where none can multiply it: the case then says why.
  std::string gemm_engine_name(const GemmProblem& problem) {
    try {
      return gemm_engine(problem).name();
    } catch (const Unavailable&) {
      return "none";
    }
  }

  CaseId id_of(const char* benchmark, std::size_t trace, const std::string& engine) const {
    return {benchmark, options_.device_name, engine, {{"trace", options_.traces[trace].name}}};
  }
  CaseId with_calls(CaseId id, int calls) {
    id.axes.set("calls", std::int64_t{calls});
    id.axes.set("ranks", std::int64_t{team().size()});
    return id;
  }

  static void add_recorded(Measurement& result, const RecordedTimes& recorded) {
    if (recorded.seconds > 0) result.metrics.emplace_back("recorded_seconds", recorded.seconds);
  }

  // The step, then what of it stands alone.
  void measure_by_turns(Measurement& result, ReplayPlans& plans, ReplayOrder order) {
    const ReplayStep& step = plans.step();
    std::vector<ReplayOrder> orders = {order};
    if (!step.gemms.empty()) orders.push_back(ReplayOrder::gemms);
    if (!step.collectives.empty()) orders.push_back(ReplayOrder::collectives);
    std::vector<std::unique_ptr<ReplayWork>> works;
    std::vector<Work*> all;
    for (const ReplayOrder each : orders) {
      works.push_back(std::make_unique<ReplayWork>(team(), plans, each, options_.graph));
      all.push_back(works.back().get());
    }
    const std::vector<Sampling> sampled =
        Sampler(team(), stop_).measure_by_turns(all, options_.mode);
    result.sampling = sampled.front();
    result.cost = works.front()->cost();
    for (std::size_t i = 1; i < sampled.size(); ++i)
      result.warnings.insert(result.warnings.end(), sampled[i].warnings.begin(),
                             sampled[i].warnings.end());
    add_figures(result, orders, sampled);
    if (step.seconds > 0) result.metrics.emplace_back("recorded_seconds", step.seconds);
  }

  static void add_figures(Measurement& result, const std::vector<ReplayOrder>& orders,
                          const std::vector<Sampling>& sampled) {
    double gemms = 0, collectives = 0;
    for (std::size_t i = 1; i < orders.size(); ++i) {
      const double median = summarise(sampled[i].samples).median;
      (orders[i] == ReplayOrder::gemms ? gemms : collectives) = median;
    }
    const double exposed = std::max(0.0, summarise(sampled[0].samples).median - gemms);
    result.metrics = {
        {"gemm_seconds", gemms}, {"collective_seconds", collectives}, {"exposed_seconds", exposed}};
    if (collectives > 0 && gemms > 0)
      result.metrics.emplace_back("hidden", std::max(0.0, 1 - exposed / collectives));
  }

  // What readers of the figures must know of the trace.
  void add_notes(Measurement& result, std::size_t trace) {
    const ReplayStep& step = steps_[trace];
    if (!step.collectives.empty() && !step.gemms.empty())
      result.notes.emplace_back("waits", step.has_waits ? "of the trace" : "end of the step");
    std::set<int> groups;
    for (const ReplayCollective& each : step.collectives) {
      if (each.recorded_ranks != team().size()) groups.insert(each.recorded_ranks);
    }
    std::string text;
    for (const int ranks : groups) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ",
                          ranks > 0 ? std::to_string(ranks) : "unknown");
    }
    if (!text.empty()) result.notes.emplace_back("recorded_ranks", text);
    std::string rest;
    for (const auto& [reason, count] : left_out_of(options_.traces[trace].recorded))
      rest += fmt::format("{}{} x {}", rest.empty() ? "" : "; ", count.calls, reason);
    if (!rest.empty()) result.notes.emplace_back("left_out", rest);
  }

  Machine& machine_;
  ReplayOptions options_;
  std::function<bool()> stop_;
  OpenSessions sessions_;
  std::vector<CollectiveEngine*> engines_;
  std::vector<ReplayStep> steps_;  // by trace
};

}  // namespace

std::vector<Benchmark> replay_benchmarks(Machine& machine, const ReplayOptions& options,
                                         std::function<bool()> stop) {
  const auto cases = std::make_shared<ReplayCases>(machine, options, std::move(stop));
  std::vector<Benchmark> benchmarks;
  const auto add = [&](const auto& list) {
    Benchmark& benchmark = benchmarks.emplace_back();
    for (const auto& one : list) {
      const auto run = [cases, one] {
        try {
          return cases->measure(one);
        } catch (const Unavailable&) {
          throw;
        } catch (...) {
          cases->close();
          throw;
        }
      };
      benchmark.cases.push_back({cases->id_of(one), run, options.mode});
    }
  };
  add(cases->gemm_cases());
  add(cases->collective_cases());
  add(cases->step_cases());
  for (Benchmark& each : benchmarks) {
    each.conclude = [cases](const std::vector<Finished>&) {
      cases->close();
      return std::vector<Measurement>{};
    };
  }
  return benchmarks;
}

}  // namespace duet
