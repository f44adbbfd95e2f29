#include "collectives/group_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "collectives/cases.h"
#include "collectives/cost.h"
#include "collectives/groups_work.h"
#include "core/error.h"
#include "core/units.h"
#include "timing/statistics.h"

namespace duet {
namespace {

constexpr std::string_view kStrided = ":strided";

// The whole number, 1 or more, that is all of the text; nothing for another text.
std::optional<int> count_of(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1) return {};
  return count;
}

std::string text_of(const BesideCollective& beside) {
  return fmt::format("{} {}", name(beside.kind), format_bytes(beside.bytes));
}

// "0-3" of consecutive numbers, "0 4 8" of others.
std::string ranks_text(const std::vector<int>& ranks) {
  const bool consecutive = ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size());
  if (consecutive && ranks.size() > 1) return fmt::format("{}-{}", ranks.front(), ranks.back());
  return fmt::format("{}", fmt::join(ranks, " "));
}

Collective collective_of(const BesideCollective& beside, const GroupDivision& groups, DType dtype) {
  Collective call;
  call.kind = beside.kind;
  call.dtype = dtype;
  call.count = count_for(call.kind, dtype, beside.bytes, groups.ranks);
  if (call.kind == CollectiveKind::all_to_all_v) {
    call.counts = skewed_counts(Skew::even, dtype, beside.bytes, groups.ranks);
  }
  return call;
}

// The median of the slowest rank's times of a group.
double median_of(const BesideSampling& sampling, std::size_t work, const std::vector<int>& ranks) {
  std::vector<double> seconds;
  for (const BesideIteration& one : sampling.iterations) {
    double& slowest = seconds.emplace_back(0);
    for (const int rank : ranks) {
      slowest = std::max(slowest, one.works[work][static_cast<std::size_t>(rank)].seconds());
    }
  }
  return summarise(std::move(seconds)).median;
}

}  // namespace

GroupDivision parse_division(std::string_view text, const char* flag) {
  std::string_view counts = text;
  GroupDivision division;
  division.strided = ends_with(counts, kStrided);
  if (division.strided) counts.remove_suffix(kStrided.size());
  const std::size_t cross = counts.find('x');
  const auto groups = count_of(counts.substr(0, cross));
  const auto ranks =
      cross == std::string_view::npos ? std::optional<int>() : count_of(counts.substr(cross + 1));
  if (!groups || !ranks) {
    throw UsageError(fmt::format(
        "{} {}: expected GROUPSxRANKS as 4x2, or 4x2:strided for ranks that are 4 apart", flag,
        text));
  }
  division.groups = *groups;
  division.ranks = *ranks;
  return division;
}

std::string name(const GroupDivision& division) {
  return fmt::format("{}x{}{}", division.groups, division.ranks,
                     division.strided ? kStrided : std::string_view());
}

TeamGroups groups_of(const GroupDivision& division, int ranks) {
  if (std::int64_t{division.groups} * division.ranks != ranks) {
    throw UsageError(fmt::format("groups {}: expected groups of all {} ranks, found {}",
                                 name(division), ranks,
                                 std::int64_t{division.groups} * division.ranks));
  }
  return division.strided ? strided_groups(ranks, division.groups)
                          : consecutive_groups(ranks, division.ranks);
}

// One of the collectives of a case, and the groups that make it.
struct GroupMeasurer::Call {
  std::unique_ptr<GroupsWork> work;
  const TeamGroups& groups;
  std::vector<int> makes;  // numbers of the groups that make it
};

GroupMeasurer::GroupMeasurer(Team& team, GroupOptions options, std::function<bool()> stop)
    : team_(team),
      options_(std::move(options)),
      stop_(std::move(stop)),
      groups_(groups_of(options_.groups, team.size())) {
  if (!options_.beside) return;
  const GroupDivision& beside = options_.beside->groups.value_or(options_.groups);
  beside_groups_ = groups_of(beside, team.size());
  if (!options_.beside->groups && beside_groups_.size() < 2) {
    throw UsageError("a collective beside, in groups of odd numbers: expected two groups or more");
  }
}

void GroupMeasurer::add_axes(Axes& axes) const {
  axes.set("groups", name(options_.groups));
  if (!options_.beside) return;
  axes.set("beside", text_of(*options_.beside));
  axes.set("beside_groups",
           options_.beside->groups ? name(*options_.beside->groups) : std::string("odd"));
}

void GroupMeasurer::require_elements(DType dtype) const {
  if (!options_.beside) return;
  const BesideCollective& beside = *options_.beside;
  const GroupDivision& groups = beside.groups.value_or(options_.groups);
  const Collective call = collective_of(beside, groups, dtype);
  try {
    check(call, groups.ranks);
  } catch (const BadArgument& error) {
    throw UsageError(error.what());
  }
  const std::uint64_t least = least_collective_bytes(beside.kind, dtype, groups.ranks);
  if (beside.bytes >= least) return;
  throw UsageError(fmt::format("{} beside: expected at least {} bytes, an element of {} a rank",
                               text_of(beside), least, name(dtype)));
}

const GroupSessions& GroupMeasurer::sessions(CollectiveEngine& engine, std::size_t call) {
  std::unique_ptr<GroupSessions>& found = sessions_[{engine.name(), call}];
  if (found == nullptr || !found->usable()) {
    found.reset();
    found = std::make_unique<GroupSessions>(team_, call == 0 ? groups_ : beside_groups_, engine);
  }
  return *found;
}

void GroupMeasurer::close(const CollectiveEngine& engine) {
  for (const std::size_t call : {0, 1}) sessions_.erase({engine.name(), call});
}

std::vector<GroupMeasurer::Call> GroupMeasurer::calls(CollectiveEngine& engine,
                                                      const Collective& collective, bool in_place,
                                                      bool verified) {
  std::vector<Call> calls;
  const auto add = [&](const TeamGroups& groups, const Collective& one, bool own_in_place) {
    const GroupSessions& opened = sessions(engine, calls.size());
    if (const auto reason = opened.at(0).unsupported(one, own_in_place)) {
      throw Unavailable(reason->reason);
    }
    auto work = std::make_unique<GroupsWork>(groups, opened, one, own_in_place, verified);
    std::vector<int> makes(groups.size());
    std::iota(makes.begin(), makes.end(), 0);
    calls.push_back({std::move(work), groups, std::move(makes)});
  };
  add(groups_, collective, in_place);
  if (!options_.beside) return calls;
  const BesideCollective& beside = *options_.beside;
  add(beside_groups_,
      collective_of(beside, beside.groups.value_or(options_.groups), collective.dtype), false);
  if (beside.groups) return calls;
  for (const std::size_t odd : {0, 1}) {
    std::vector<int>& makes = calls[odd].makes;
    makes.erase(std::remove_if(makes.begin(), makes.end(),
                               [odd](int group) { return group % 2 != static_cast<int>(odd); }),
                makes.end());
  }
  return calls;
}

// What the turns of a case run: turn 0 all groups of all calls, each later one a single group.
class GroupMeasurer::Turns {
 public:
  explicit Turns(const std::vector<Call>& calls) : calls_(calls) {
    for (std::size_t call = 0; call < calls.size(); ++call) {
      for (const int group : calls[call].makes) alone_.push_back({call, group});
    }
  }

  int count() const { return static_cast<int>(alone_.size()) + 1; }

  void begin(int turn) const {
    for (std::size_t call = 0; call < calls_.size(); ++call) {
      const Call& one = calls_[call];
      if (turn == 0) {
        one.work->choose(one.makes);
        continue;
      }
      const OneGroup& chosen = alone_[static_cast<std::size_t>(turn - 1)];
      one.work->choose(chosen.call == call ? std::vector<int>{chosen.group} : std::vector<int>{});
    }
  }

  // Sets the figures of each group.
  void add_figures(const std::vector<BesideSampling>& samplings, Measurement& result) const {
    std::vector<double> seconds, apart, slowdowns, busbw;
    double slowest_alone = 0;
    for (std::size_t turn = 0; turn < alone_.size(); ++turn) {
      const auto& [call, group] = alone_[turn];
      const std::vector<int>& ranks = ranks_of(alone_[turn]);
      seconds.push_back(median_of(samplings.front(), call, ranks));
      apart.push_back(median_of(samplings[turn + 1], call, ranks));
      slowdowns.push_back(apart.back() > 0 ? seconds.back() / apart.back() : 0);
      const double bus_bytes = calls_[call].work->cost().more.value(kBusBytes);
      busbw.push_back(seconds.back() > 0 ? bus_bytes / seconds.back() / 1e9 : 0);
      if (call == 0) slowest_alone = std::max(slowest_alone, apart.back());
    }
    result.metrics = {{"slowdown", *std::max_element(slowdowns.begin(), slowdowns.end())},
                      {"alone_seconds", slowest_alone}};
    result.curves = {{kGroupSeconds, seconds},
                     {kGroupAlone, apart},
                     {kGroupSlowdown, slowdowns},
                     {kGroupBusbw, busbw}};
  }

  // "0-1; 2-3", in the order of the figures.
  std::string groups_text() const {
    std::string text;
    for (const OneGroup& one : alone_) {
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", calls_[one.call].work->name(),
                          ranks_text(ranks_of(one)));
    }
    return text;
  }

 private:
  struct OneGroup {
    std::size_t call;
    int group;
  };
  const std::vector<int>& ranks_of(const OneGroup& one) const {
    return calls_[one.call].groups[static_cast<std::size_t>(one.group)];
  }

  const std::vector<Call>& calls_;
  std::vector<OneGroup> alone_;
};

Measurement GroupMeasurer::measure(const CaseId& id, CollectiveEngine& engine,
                                   const Collective& collective, bool in_place, bool verified) {
  std::vector<Call> made;
  try {
    made = calls(engine, collective, in_place, verified);
  } catch (const Unavailable& error) {
    return skipped_measurement(id, error.what());
  }
  Measurement result;
  result.id = id;
  std::vector<PlacedWork> works;
  for (const Call& call : made) works.push_back({*call.work});
  const Turns turns(made);
  BesideMode mode = options_.mode;
  mode.lag_seconds = 0;
  const std::vector<BesideSampling> samplings =
      BesideSampler(team_, stop_).measure_by_turns(works, mode, {turns.count(), [&](int turn) {
                                                                   turns.begin(turn);
                                                                 }});
  const BesideSampling& all = samplings.front();
  Sampling& sampling = result.sampling.emplace();
  for (const BesideIteration& one : all.iterations) sampling.samples.push_back(one.seconds(0));
  sampling.stopped_by = "iterations";
  sampling.mode = "turns";
  sampling.warm_ups = all.warm_ups;
  sampling.verified = all.verified;
  sampling.warnings = all.warnings;
  const GroupsWork& main = *made.front().work;
  result.cost = main.cost();
  if (all.verified) result.rates.emplace_back("wrong", 0);
  if (!main.algorithm().empty()) result.notes.emplace_back("algorithm", main.algorithm());
  result.notes.emplace_back("count", std::to_string(collective.count));
  turns.add_figures(samplings, result);
  result.notes.emplace_back(kGroupsNote, turns.groups_text());
  return result;
}

}  // namespace duet
