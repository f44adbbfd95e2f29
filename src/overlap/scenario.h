// Scenarios: which two works run at the same time. They come from TOML files, from the built-in
// files in specs/overlap, or from the command line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "overlap/side.h"

namespace duet {

class Machine;

// What a study showed of a scenario's GEMM on one device: its memory traffic as a multiple of A, B
// and C. Simulations of that scenario take it instead of the device model's; other GEMMs of the
// same shape do not.
struct FittedTraffic {
  std::string model;  // of the device
  double traffic = 0;
  std::string fitted_to;
};

struct OverlapScenario {
  std::string name;    // "cb5_1.63G all_gather"
  std::string source;  // where the scenario occurs: "LLaMA-405B", "synthetic"; "custom" if typed in
  OverlapSide compute = GemmProblem{};
  OverlapSide communication = CollectiveSide{};
  // A copy that every device makes at the same time, beside both.
  std::optional<CopySide> copy = {};
  // Number of nano-batches into which the works are divided: a GEMM along M, others by bytes.
  int pieces = 1;
  bool in_place = false;              // whether the collectives run in place
  std::vector<FittedTraffic> fitted;  // at most one of a model
};

// The name that identifies a scenario within a run: "cb5_1.63G all_gather in place".
std::string full_name(const OverlapScenario& scenario);

// What is fitted of a scenario on a simulated machine; nullptr: nothing, and on any other machine.
const FittedTraffic* fitted_traffic(const OverlapScenario& scenario, Machine& machine);

// Parses a file of [[scenario]] tables: one scenario for each communication work of a table.
// [[fitted_traffic]] tables hold for its scenarios with the GEMM that they name. Throws UsageError
// with the file, the key and what was expected.
std::vector<OverlapScenario> read_scenarios(const std::string& file, std::string_view text);

// Throws UsageError where two scenarios have the same full name: their figures would be
// indistinguishable.
void require_different_names(const std::vector<OverlapScenario>& scenarios);

// The built-in scenarios of a set; `all` is every set. Throws UsageError.
std::vector<OverlapScenario> scenario_set(std::string_view name);
std::vector<std::string> scenario_set_names();

// Makes a scenario of two sides in the form of parse_side(). Throws UsageError.
OverlapScenario parse_scenario(std::string_view compute, std::string_view communication);

// The scenario with a copy beside both sides: "copy:device_to_host:256M". Throws UsageError.
OverlapScenario with_copy(OverlapScenario scenario, std::string_view copy);

// The same scenario with collectives in place.
OverlapScenario in_place(OverlapScenario scenario);

// The texts of the files in specs/overlap, by name.
const std::map<std::string, std::string_view>& built_in_scenarios();

// Throws UsageError, with the scenario's name, where a GEMM or a copy is not divisible by the
// number of pieces, or a collective's bytes are not whole elements for this number of ranks and
// pieces.
void check_scenario(const OverlapScenario& scenario, int ranks);

// One piece of a side.
Collective collective_of(const OverlapScenario& scenario, const CollectiveSide& side, int ranks);
GemmProblem problem_of(const OverlapScenario& scenario, const GemmProblem& side);
CopySide copy_of(const OverlapScenario& scenario, const CopySide& side);

// A GEMM beside a collective alone: the scenarios that the advisor and the benchmark
// overlap_isolated support.
struct GemmBesideCollective {
  GemmProblem problem;  // one piece
  CollectiveKind collective = CollectiveKind::all_gather;
  std::uint64_t bytes = 0;  // one piece, size_bytes() of collective.h
};
bool is_gemm_beside_collective(const OverlapScenario& scenario);
// Throws UsageError for any other scenario.
GemmBesideCollective gemm_beside_collective(const OverlapScenario& scenario);

}  // namespace duet
