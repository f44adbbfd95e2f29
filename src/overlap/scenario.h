// What runs beside what: data in TOML files, those of specs/overlap built in, or typed in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/collective.h"
#include "gemm/problem.h"

namespace duet {

struct OverlapScenario {
  std::string name;    // "cb5_1.63G all_gather"
  std::string source;  // who has it: "LLaMA-405B", "synthetic"; "custom" if typed in
  GemmProblem compute;
  CollectiveKind collective = CollectiveKind::all_gather;
  std::uint64_t bytes = 0;  // S of docs/measuring.md
  // Nano-batches: the GEMM in so many along M, each with a collective of its share of the bytes.
  int pieces = 1;
  bool in_place = false;  // the collective; " in place" ends the name then
};

// A file of [[scenario]] tables, one for each collective that a table names. Throws UsageError with
// the file, the key and what was expected.
std::vector<OverlapScenario> read_scenarios(const std::string& file, std::string_view text);

// Those built in, by the name of their set; `all` is all of them. Throws UsageError.
std::vector<OverlapScenario> scenario_set(std::string_view name);
std::vector<std::string> scenario_set_names();

// "gemm:8192x57344x8192:bf16" beside "all_gather:896M". Throws UsageError.
OverlapScenario parse_scenario(std::string_view compute, std::string_view communication);

// The same with its collective in place.
OverlapScenario in_place(OverlapScenario scenario);

// The texts of specs/overlap by name.
const std::map<std::string, std::string_view>& built_in_scenarios();

// Throws UsageError, with the scenario's name, for a GEMM that its pieces do not divide or bytes
// that are no whole elements for so many ranks and pieces.
void check_scenario(const OverlapScenario& scenario, int ranks);

// The collective of one piece for so many ranks.
Collective collective_of(const OverlapScenario& scenario, int ranks);
GemmProblem problem_of(const OverlapScenario& scenario);  // of one piece

}  // namespace duet
