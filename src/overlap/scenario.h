// What runs beside what: data in TOML files, those of specs/overlap built in, or typed in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "overlap/side.h"

namespace duet {

struct OverlapScenario {
  std::string name;    // "cb5_1.63G all_gather"
  std::string source;  // who has it: "LLaMA-405B", "synthetic"; "custom" if typed in
  OverlapSide compute = GemmProblem{};
  OverlapSide communication = CollectiveSide{};
  // Nano-batches: both sides in so many, a GEMM along M, the others by bytes.
  int pieces = 1;
  bool in_place = false;  // the collectives
};

// Of each scenario of a run its own: "cb5_1.63G all_gather in place".
std::string full_name(const OverlapScenario& scenario);

// A file of [[scenario]] tables, one for each work that a table communicates. Throws UsageError
// with the file, the key and what was expected.
std::vector<OverlapScenario> read_scenarios(const std::string& file, std::string_view text);

// Throws UsageError for two scenarios of one full name: their figures could not be told apart.
void require_different_names(const std::vector<OverlapScenario>& scenarios);

// Those built in, by the name of their set; `all` is all of them. Throws UsageError.
std::vector<OverlapScenario> scenario_set(std::string_view name);
std::vector<std::string> scenario_set_names();

// Each side as parse_side() takes it. Throws UsageError.
OverlapScenario parse_scenario(std::string_view compute, std::string_view communication);

// The same with its collectives in place.
OverlapScenario in_place(OverlapScenario scenario);

// The texts of specs/overlap by name.
const std::map<std::string, std::string_view>& built_in_scenarios();

// Throws UsageError, with the scenario's name, for a GEMM or a copy that its pieces do not divide,
// or bytes that are no whole elements for so many ranks and pieces.
void check_scenario(const OverlapScenario& scenario, int ranks);

// One piece of a side for so many ranks.
Collective collective_of(const OverlapScenario& scenario, const CollectiveSide& side, int ranks);
GemmProblem problem_of(const OverlapScenario& scenario, const GemmProblem& side);
CopySide copy_of(const OverlapScenario& scenario, const CopySide& side);

// What the isolated picture and the advisor are about: a GEMM beside a collective.
struct GemmBesideCollective {
  GemmProblem problem;  // of one piece
  CollectiveKind collective = CollectiveKind::all_gather;
  std::uint64_t bytes = 0;  // of one piece
};
bool is_gemm_beside_collective(const OverlapScenario& scenario);
GemmBesideCollective gemm_beside_collective(const OverlapScenario& scenario);  // else UsageError

}  // namespace duet
