// Collectives of groups of ranks: all groups at once, beside what each takes while the others are
// idle.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/engine.h"
#include "collectives/group_sessions.h"
#include "timing/beside_sampler.h"
#include "timing/measurement.h"

namespace duet {

// So many groups of so many ranks.
struct GroupDivision {
  int groups = 1, ranks = 1;
  bool strided = false;  // ranks whose numbers differ by a multiple of `groups`; else consecutive
};

// "4x2", "2x4:strided". Throws UsageError; `flag` names what has the text.
GroupDivision parse_division(std::string_view text, const char* flag);
std::string name(const GroupDivision& division);
// Throws UsageError unless the groups have all of so many ranks.
TeamGroups groups_of(const GroupDivision& division, int ranks);

// Another collective that runs at the same time.
struct BesideCollective {
  CollectiveKind kind = CollectiveKind::all_gather;
  std::uint64_t bytes = 0;  // size_bytes() in a group
  // Its groups, each of which makes it. None: the groups of odd numbers make it, instead of the
  // case's collective.
  std::optional<GroupDivision> groups;
};

struct GroupOptions {
  GroupDivision groups;
  std::optional<BesideCollective> beside;
  BesideMode mode;  // without its lag: all groups begin at once
};

// The name of the benchmark's records.
inline constexpr const char* kGroupsBenchmark = "collective_groups";

// Names of its records' curves, which have a figure for each group: first of the case's collective,
// then of the one beside.
inline constexpr const char* kGroupSeconds = "group_seconds";
inline constexpr const char* kGroupAlone = "group_alone_seconds";
inline constexpr const char* kGroupSlowdown = "group_slowdown";
inline constexpr const char* kGroupBusbw = "group_busbw_gb_per_s";

// The note that names the groups in the order of the curves: "all_reduce 0-1; all_reduce 2-3".
inline constexpr const char* kGroupsNote = "groups";

// Measures them. The sessions of both divisions are opened when a case first needs them.
class GroupMeasurer {
 public:
  // The team is that of all ranks. It must outlive this. Throws UsageError for divisions that do
  // not have all ranks.
  GroupMeasurer(Team& team, GroupOptions options, std::function<bool()> stop);

  // Throws UsageError where what runs beside has less than an element of this type for each rank,
  // or does not reduce it.
  void require_elements(DType dtype) const;
  // The axes that tell the groups and what runs beside.
  void add_axes(Axes& axes) const;

  // A case: the collective of each group (of its counts among the group's ranks), all at once and
  // each alone, by turns. Its samples are the slowest group's of all at once. Metrics: `slowdown`,
  // the largest of a group over its time alone, and `alone_seconds` of the group that is the
  // slowest alone. Collective among processes.
  Measurement measure(const CaseId& id, CollectiveEngine& engine, const Collective& collective,
                      bool in_place, bool verified);

  // After a case of the engine has failed.
  void close(const CollectiveEngine& engine);
  void close() { sessions_.clear(); }

 private:
  struct Call;
  class Turns;
  const GroupSessions& sessions(CollectiveEngine& engine, std::size_t call);
  std::vector<Call> calls(CollectiveEngine& engine, const Collective& collective, bool in_place,
                          bool verified);

  Team& team_;
  GroupOptions options_;
  std::function<bool()> stop_;
  TeamGroups groups_, beside_groups_;
  // By engine and place of the call: two calls at once have sessions of their own.
  std::map<std::pair<std::string, std::size_t>, std::unique_ptr<GroupSessions>> sessions_;
};

}  // namespace duet
