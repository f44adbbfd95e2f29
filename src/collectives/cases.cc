// Order of the cases: by kind, element type and operation, then by size. The engines' cases of one
// size follow each other, so they run within the same minute.
#include "collectives/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "collectives/collective_work.h"
#include "collectives/crossover.h"
#include "collectives/group_cases.h"
#include "collectives/open_sessions.h"
#include "collectives/tuning/changeover.h"
#include "core/error.h"
#include "core/units.h"
#include "team/nodes.h"
#include "timing/sampler.h"
#include "timing/start_gate.h"

namespace duet {
namespace {

bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::gather ||
         kind == CollectiveKind::scatter;
}

// The parameters of a case other than its engine.
struct Call {
  Collective collective;
  Skew skew = Skew::even;
  bool in_place = false;
  std::uint64_t packet = 0;  // 0: the engine has none
};

// `nodes`: 1 where all ranks are of one, which a case does not say.
Axes axes(const Call& call, const GraphUse& graph, int ranks, int nodes) {
  const Collective& c = call.collective;
  Axes list = {{"collective", std::string(name(c.kind))}, {"type", std::string(name(c.dtype))}};
  if (reduces(c.kind)) list.set("op", std::string(name(c.op)));
  if (has_root(c.kind)) list.set("root", std::int64_t{c.root});
  if (c.kind == CollectiveKind::all_to_all_v) list.set("layout", std::string(name(call.skew)));
  list.set("bytes", static_cast<std::int64_t>(size_bytes(c, ranks)));
  if (call.packet > 0) list.set("packet", static_cast<std::int64_t>(call.packet));
  list.set("in_place", call.in_place);
  list.set("ranks", std::int64_t{ranks});
  if (nodes > 1) list.set("nodes", std::int64_t{nodes});
  if (graph.launches > 0) {
    list.set("graph_launches", std::int64_t{graph.launches});
    list.set("graph_calls", std::int64_t{graph.calls});
  }
  return list;
}

// One figure per rank: "0.8, 0.9".
std::string microseconds(const std::vector<double>& seconds) {
  std::string text;
  for (const double each : seconds) {
    text += fmt::format("{}{:.1f}", text.empty() ? "" : ", ", each * 1e6);
  }
  return text;
}

// When the steps of one call ran on each rank. All ranks begin at once.
std::vector<std::vector<CallTimeline::Step>> steps_of_a_call(Team& team, CollectiveWork& work) {
  constexpr double kDeadline = 120;
  std::vector<std::vector<CallTimeline::Step>> steps(static_cast<std::size_t>(team.size()));
  StartGate gate(team);
  team.each([&](Rank& rank) {
    const auto stream = rank.device.make_stream();
    for (int call = 0; call < ungated_calls(team); ++call) {
      work.enqueue(rank, *stream);
      stream->synchronize(kDeadline);
    }
    CallTimeline timeline(rank.device);
    gate.hold(rank, *stream, kDeadline);
    timeline.begin(*stream);
    work.enqueue_observed(rank, *stream, timeline);
    gate.release(rank, kDeadline);
    stream->synchronize(kDeadline);
    steps[static_cast<std::size_t>(rank.index)] = timeline.steps();
  });
  return steps;
}

class CollectiveCases {
 public:
  CollectiveCases(Machine& machine, CollectiveOptions options, std::function<bool()> stop,
                  Processes* processes)
      : options_(std::move(options)),
        stop_(std::move(stop)),
        machine_(machine),
        sessions_(std::make_shared<OpenSessions>(machine, processes, options_.node_size,
                                                 options_.network)),
        ranks_(options_.groups ? options_.groups->groups.ranks : sessions_->team().size()),
        nodes_(NodeMap::of(sessions_->team()).nodes()) {
    sessions_->team().together([&] { engines_ = engines_named(machine, options_.engines); });
    for (CollectiveEngine* engine : engines_) engine->check_settings(sessions_->team());
    require_packets();
    if (!options_.groups) return;
    groups_ = std::make_shared<GroupMeasurer>(sessions_->team(), *options_.groups, stop_);
    for (const DType dtype : options_.dtypes) groups_->require_elements(dtype);
  }

  Benchmark benchmark() {
    for_each([this](const std::string& name, const Engine& engine, const Call& call) {
      add_case(name, engine, call);
    });
    // The drop-in keeps mappings of peers' memory that has been freed, and other engines could not
    // map what has come to the same address since.
    std::stable_partition(cases_.begin(), cases_.end(),
                          [](const Case& each) { return each.id.engine != kDropInEngine; });
    // Frees the sessions' communicators and memory after the last case.
    const auto conclude = [sessions = sessions_,
                           groups = groups_](const std::vector<Finished>& finished) {
      if (groups != nullptr) groups->close();
      sessions->close();
      return conclude_collectives(finished);
    };
    return {std::move(cases_), conclude};
  }

  void plan(const std::function<void(const PlannedCase&)>& take, bool timed) {
    for_each([&](const std::string& name, const Engine& engine, const Call& call) {
      PlannedCase result;
      result.engine = name;
      result.bytes = size_bytes(call.collective, ranks_);
      result.skew = call.skew;
      result.in_place = call.in_place;
      result.axes = axes(call, {}, ranks_, nodes_);
      result.schedule.collective = call.collective;
      try {
        CollectiveSession& session = sessions_->session(*engine);
        session.keep_schedules(true);
        plan(session, call, result, timed);
      } catch (const Unavailable& error) {
        result.skipped = Skipped{error.what()};
      }
      take(result);
    });
    sessions_->close();
  }

 private:
  using Engine = std::shared_ptr<CollectiveEngine>;
  // With the name of the engine, which is another one where it is cut into packets.
  using Visit = std::function<void(const std::string&, const Engine&, const Call&)>;

  void plan(CollectiveSession& session, const Call& call, PlannedCase& result, bool timed) {
    result.skipped = session.unsupported(call.collective, call.in_place);
    if (result.skipped) return;
    CollectiveWork work(sessions_->team(), session, call.collective, call.in_place, false);
    sessions_->team().each([&](Rank& rank) { work.prepare(rank, {}); });
    result.algorithm = work.algorithm();
    for (int rank = 0; rank < ranks_; ++rank) {
      const RankSchedule* const own = work.plan(rank).schedule();
      if (own == nullptr) break;
      result.schedule.ranks.push_back(*own);
      result.schedule.in_place.push_back(call.in_place &&
                                         send_bytes(call.collective, rank, ranks_) > 0 &&
                                         recv_bytes(call.collective, rank, ranks_) > 0);
    }
    if (timed && !result.schedule.ranks.empty()) {
      result.steps = steps_of_a_call(sessions_->team(), work);
    }
    sessions_->team().each([&](Rank& rank) { work.release(rank); });
    result.warnings = session.take_warnings();
  }

  void for_each(const Visit& visit) {
    for (const CollectiveKind kind : options_.kinds) {
      for (const DType dtype : types_of(kind)) {
        for (const Reduction op : ops_of(kind)) {
          for (const Skew skew : skews_of(kind)) visit_curve(visit, kind, dtype, op, skew);
        }
      }
    }
  }

  std::vector<Reduction> ops_of(CollectiveKind kind) const {
    return reduces(kind) ? options_.ops : std::vector<Reduction>{Reduction::sum};
  }

  // With several types, reductions leave out int8 (bytes). If int8 is the only type, it stays in
  // the list and is rejected later.
  std::vector<DType> types_of(CollectiveKind kind) const {
    std::vector<DType> types = options_.dtypes;
    if (reduces(kind) && types.size() > 1) {
      types.erase(std::remove(types.begin(), types.end(), DType::int8), types.end());
    }
    return types;
  }

  std::vector<Skew> skews_of(CollectiveKind kind) const {
    return kind == CollectiveKind::all_to_all_v ? options_.skews : std::vector<Skew>{Skew::even};
  }

  Collective collective(CollectiveKind kind, DType dtype, Reduction op, Skew skew,
                        std::uint64_t bytes) const {
    Collective c;
    c.kind = kind;
    c.dtype = dtype;
    c.op = op;
    c.root = has_root(kind) ? options_.root : 0;
    c.count = count_for(kind, dtype, bytes, ranks_);
    if (kind == CollectiveKind::all_to_all_v) c.counts = skewed_counts(skew, dtype, bytes, ranks_);
    return c;
  }

  void visit_curve(const Visit& visit, CollectiveKind kind, DType dtype, Reduction op, Skew skew) {
    const std::vector<std::uint64_t> sizes =
        options_.sizes.empty() ? default_collective_sizes(kind, machine_) : options_.sizes;
    const std::uint64_t least = least_collective_bytes(kind, dtype, ranks_);
    const bool any = *std::max_element(sizes.begin(), sizes.end()) >= least;
    for (const std::uint64_t bytes : sizes) {
      if (any && bytes < least) continue;
      Call call{collective(kind, dtype, op, skew, bytes), skew, false};
      require(call.collective, bytes, ranks_);
      for (const bool in_place : options_.in_place) {
        if (in_place && !has_in_place(kind)) continue;
        call.in_place = in_place;
        for (CollectiveEngine* engine : engines_) visit_packets(visit, *engine, call);
      }
    }
  }

  static void require(const Collective& c, std::uint64_t bytes, int ranks) {
    try {
      check(c, ranks);
    } catch (const BadArgument& error) {
      throw UsageError(error.what());
    }
    if (c.count > 0) return;
    const std::uint64_t least = least_collective_bytes(c.kind, c.dtype, ranks);
    throw UsageError(fmt::format("{} of {} bytes: expected at least {}, an element of {} a rank",
                                 name(c.kind), bytes, least, name(c.dtype)));
  }

  void require_packets() {
    std::vector<std::uint64_t>& packets = options_.packets;
    const auto cuts = [](const CollectiveEngine* engine) {
      return engine->with_packets(CollectiveKind::all_to_all, kDefaultPacket) != nullptr;
    };
    if (!packets.empty() && std::none_of(engines_.begin(), engines_.end(), cuts)) {
      throw UsageError("packets: expected an engine that puts in packets, such as nvshmem-grid");
    }
    if (packets.empty()) packets = {kDefaultPacket};
    std::sort(packets.begin(), packets.end());
    packets.erase(std::unique(packets.begin(), packets.end()), packets.end());
    for (const std::uint64_t bytes : packets) {
      if (bytes > 0 && bytes % 16 == 0) continue;
      throw UsageError(fmt::format("packets of {} bytes: expected a multiple of 16", bytes));
    }
  }

  // A case for each size of packets, where the engine has them. Of packets that hold a whole chunk
  // the smallest is enough.
  void visit_packets(const Visit& visit, CollectiveEngine& engine, Call call) {
    const Collective& c = call.collective;
    if (engine.with_packets(c.kind, kDefaultPacket) == nullptr)
      return visit(engine.name(), {std::shared_ptr<void>(), &engine}, call);
    const std::uint64_t largest =
        c.counts.empty() ? c.count : *std::max_element(c.counts.begin(), c.counts.end());
    for (const std::uint64_t bytes : options_.packets) {
      call.packet = bytes;
      visit(engine.name(), engine.with_packets(c.kind, bytes), call);
      if (bytes >= largest * size_of(c.dtype)) return;
    }
  }

  void add_groups_case(const std::string& name, const Engine& engine, const Call& call) {
    CaseId id{kGroupsBenchmark, options_.device_name, name, axes(call, {}, ranks_, nodes_)};
    groups_->add_axes(id.axes);
    const auto run = [groups = groups_, sessions = sessions_, engine, id, call,
                      verified = options_.verified] {
      try {
        return groups->measure(id, *engine, call.collective, call.in_place, verified);
      } catch (...) {
        groups->close(*engine);
        throw;
      }
    };
    cases_.push_back({id, run, std::nullopt, options_.verified});
  }

  void add_case(const std::string& name, const Engine& engine, const Call& call) {
    if (groups_ != nullptr) return add_groups_case(name, engine, call);
    const CaseId id{"collective", options_.device_name, name,
                    axes(call, options_.graph, ranks_, nodes_)};
    const Mode mode = options_.small_calls_mode && compares_small_calls(id)
                          ? *options_.small_calls_mode
                          : options_.mode;
    const auto run = [sessions = sessions_, engine, id, call, mode, verified = options_.verified,
                      graph = options_.graph, stop = stop_] {
      try {
        return measure(*sessions, *engine, id, call, {mode, verified, graph, stop});
      } catch (...) {
        sessions->close(*engine);
        throw;
      }
    };
    cases_.push_back({id, run, mode, options_.verified});
  }

  struct CaseSettings {
    Mode mode;
    bool verified = true;
    GraphUse graph;
    std::function<bool()> stop;
  };

  static Measurement measure(OpenSessions& sessions, CollectiveEngine& engine, const CaseId& id,
                             const Call& call, const CaseSettings& settings) {
    Measurement result;
    result.id = id;
    CollectiveSession& session = sessions.session(engine);
    result.skipped = session.unsupported(call.collective, call.in_place);
    if (!result.skipped && settings.graph.launches > 0) result.skipped = session.uncapturable();
    if (result.skipped) return result;
    CollectiveWork work(sessions.team(), session, call.collective, call.in_place, settings.verified,
                        settings.graph);
    result.sampling = Sampler(sessions.team(), settings.stop).measure(work, settings.mode);
    result.cost = work.cost();
    result.warnings = session.take_warnings();
    if (result.sampling->verified) result.rates.emplace_back("wrong", 0);
    if (!work.algorithm().empty()) result.notes.emplace_back("algorithm", work.algorithm());
    result.notes.emplace_back("count", std::to_string(call.collective.count));
    result.notes.emplace_back("enqueue_us", microseconds(work.enqueue_seconds()));
    return result;
  }

  CollectiveOptions options_;
  std::function<bool()> stop_;
  Machine& machine_;
  std::shared_ptr<OpenSessions> sessions_;
  int ranks_, nodes_;
  std::vector<CollectiveEngine*> engines_;
  std::shared_ptr<GroupMeasurer> groups_;  // null: all ranks make the calls
  std::vector<Case> cases_;
};

}  // namespace

std::vector<std::uint64_t> default_collective_sizes(CollectiveKind kind, Machine& machine) {
  if (kind == CollectiveKind::send_recv) return seed_sizes();
  const bool cpu = machine.device(0).info().is_cpu;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = 64 << 10; bytes <= (cpu ? 16ull << 20 : 1ull << 30); bytes *= 4) {
    sizes.push_back(bytes);
  }
  return sizes;
}

std::uint64_t least_collective_bytes(CollectiveKind kind, DType dtype, int ranks) {
  Collective one;
  // all_to_all_v has counts of its own.
  one.kind = kind == CollectiveKind::all_to_all_v ? CollectiveKind::all_to_all : kind;
  one.dtype = dtype;
  one.count = 1;
  return size_bytes(one, ranks);
}

void plan_collectives(Machine& machine, const CollectiveOptions& options,
                      const std::function<void(const PlannedCase&)>& take, bool timed) {
  CollectiveCases(machine, options, nullptr, nullptr).plan(take, timed);
}

Benchmark collective_benchmark(Machine& machine, const CollectiveOptions& options,
                               std::function<bool()> stop, Processes* processes) {
  return CollectiveCases(machine, options, std::move(stop), processes).benchmark();
}

}  // namespace duet
