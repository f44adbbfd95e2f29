#include "overlap/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <set>

#include "core/error.h"
#include "core/names.h"
#include "core/toml_table.h"
#include "core/units.h"
#include "device/machine.h"

namespace duet {
namespace {

constexpr Range kBytes{1, 1e15, "bytes"};  // doubles represent whole numbers exactly up to here
constexpr int kMostPieces = 1 << 20;
constexpr Range kTraffic{1, 1e4, "times A, B and C"};

std::uint64_t whole_bytes(TomlTable& table) {
  const double bytes = table.bytes("bytes", 1, kBytes);
  if (bytes != std::floor(bytes)) table.fail("bytes", "a whole number of bytes");
  return static_cast<std::uint64_t>(bytes);
}

OverlapSide compute_side(TomlTable& table) {
  if (table.has("compute")) return parse_side(table.text("compute"));
  return parse_gemm(table.text("gemm"), table.has("dtype") ? table.text("dtype") : "bf16");
}

std::vector<OverlapSide> communication_sides(TomlTable& table) {
  std::vector<OverlapSide> sides;
  if (table.has("communicate")) {
    for (const std::string& each : table.texts("communicate")) sides.push_back(parse_side(each));
    return sides;
  }
  const std::uint64_t bytes = whole_bytes(table);
  for (const std::string& each : table.texts("collectives")) {
    sides.emplace_back(CollectiveSide{parse_collective(each), bytes});
  }
  return sides;
}

void add_table(std::vector<OverlapScenario>& scenarios, TomlTable table) {
  OverlapScenario scenario;
  const std::string tag = table.text("name");
  scenario.source = table.text("source");
  scenario.compute = compute_side(table);
  if (table.has("pieces")) scenario.pieces = table.count("pieces", 1, kMostPieces);
  const bool is_in_place = table.has("in_place") && table.truth("in_place");
  const bool short_names = !table.has("communicate");  // all sides have the same size
  const std::vector<OverlapSide> sides = communication_sides(table);
  const std::string copy = table.has("also") ? table.text("also") : "";
  table.finish();
  for (const OverlapSide& each : sides) {
    scenario.communication = each;
    scenario.name = fmt::format("{} {}", tag, short_names ? name(each) : name_with_bytes(each));
    const OverlapScenario whole = copy.empty() ? scenario : with_copy(scenario, copy);
    scenarios.push_back(is_in_place ? in_place(whole) : whole);
  }
}

// Adds what is fitted of a GEMM to its scenarios.
void add_fitted(std::vector<OverlapScenario>& scenarios, TomlTable table) {
  const GemmProblem gemm = parse_gemm(table.text("gemm"), "bf16");
  const FittedTraffic fitted{table.text("model"), table.number("traffic", kTraffic),
                             table.text("fitted_to")};
  table.finish();
  bool any = false;
  for (OverlapScenario& each : scenarios) {
    const auto* own = std::get_if<GemmProblem>(&each.compute);
    if (own == nullptr || name(*own) != name(gemm)) continue;
    each.fitted.push_back(fitted);
    any = true;
  }
  if (!any) table.fail("gemm", "the GEMM of a scenario of the file, in bf16");
}

// The text after the first colon: "8192x57344x8192:bf16" of "gemm:8192x57344x8192:bf16".
std::string_view rest(std::string_view text) { return text.substr(text.find(':') + 1); }

std::string name_of(const OverlapScenario& scenario, std::string_view compute,
                    std::string_view communication) {
  if (!is_gemm_beside_collective(scenario)) return fmt::format("{} {}", compute, communication);
  const std::string_view gemm = rest(compute);
  return fmt::format("{}_{} {}", gemm.substr(0, gemm.find(':')), rest(communication),
                     name(scenario.communication));
}

[[noreturn]] void refuse(const OverlapScenario& scenario, const std::string& why) {
  throw UsageError(fmt::format("scenario {}: {}", full_name(scenario), why));
}

void check(const OverlapScenario& scenario, const GemmProblem& gemm) {
  if (gemm.m % scenario.pieces == 0) return;
  refuse(scenario,
         fmt::format("M of {}: expected a multiple of its {} pieces", gemm.m, scenario.pieces));
}

void check(const OverlapScenario& scenario, const CollectiveSide& side, int ranks) {
  const auto pieces = static_cast<std::uint64_t>(scenario.pieces);
  const Collective one = collective_of(scenario, side, ranks);
  if (one.count > 0 && size_bytes(one, ranks) * pieces == side.bytes) return;
  refuse(scenario, fmt::format("{} bytes: expected as many elements of {} for each of {} ranks "
                               "and {} pieces",
                               side.bytes, name(one.dtype), ranks, scenario.pieces));
}

void check(const OverlapScenario& scenario, const CopySide& side, int ranks) {
  const auto pieces = static_cast<std::uint64_t>(scenario.pieces);
  if (side.bytes == 0 || side.bytes % pieces != 0) {
    refuse(scenario,
           fmt::format("a copy of {} bytes: expected a multiple of its {} pieces, above 0",
                       side.bytes, scenario.pieces));
  }
  if (side.executor == Executor::host) {
    refuse(scenario, "a copy by host: expected dma, sdma or kernel");
  }
  if (side.kind == CopyKind::peer && ranks < 2)
    refuse(scenario, "a copy to a peer: expected two devices or more");
}

}  // namespace

void require_different_names(const std::vector<OverlapScenario>& scenarios) {
  std::set<std::string> names;
  for (const OverlapScenario& each : scenarios) {
    if (!names.insert(full_name(each)).second)
      refuse(each, "expected a name of its own: two have it");
  }
}

std::vector<OverlapScenario> read_scenarios(const std::string& file, std::string_view text) {
  const toml::table parsed = TomlTable::parse(file, text);
  TomlTable root(file, "", parsed);
  std::vector<OverlapScenario> scenarios;
  for (const TomlTable& table : root.tables("scenario")) {
    try {
      add_table(scenarios, table);
    } catch (const UsageError& error) {
      const std::string words = error.what();
      throw UsageError(words.rfind(file, 0) == 0 ? words : fmt::format("{}: {}", file, words));
    }
  }
  for (const TomlTable& table : root.tables("fitted_traffic")) add_fitted(scenarios, table);
  root.finish();
  if (scenarios.empty()) throw UsageError(file + ": expected at least one [[scenario]]");
  require_different_names(scenarios);
  return scenarios;
}

const FittedTraffic* fitted_traffic(const OverlapScenario& scenario, Machine& machine) {
  if (!machine.is_virtual()) return nullptr;
  const std::string& model = machine.device(0).info().model;
  for (const FittedTraffic& each : scenario.fitted) {
    if (each.model == model) return &each;
  }
  return nullptr;
}

std::string full_name(const OverlapScenario& scenario) {
  return scenario.in_place ? scenario.name + " in place" : scenario.name;
}

OverlapScenario in_place(OverlapScenario scenario) {
  const bool any = std::holds_alternative<CollectiveSide>(scenario.compute) ||
                   std::holds_alternative<CollectiveSide>(scenario.communication);
  scenario.in_place = any;
  return scenario;
}

std::vector<std::string> scenario_set_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : built_in_scenarios()) names.push_back(name);
  return names;
}

std::vector<OverlapScenario> scenario_set(std::string_view name) {
  std::vector<OverlapScenario> all;
  for (const auto& [each, text] : built_in_scenarios()) {
    if (name != "all" && name != each) continue;
    const std::vector<OverlapScenario> set = read_scenarios(each + ".toml", text);
    all.insert(all.end(), set.begin(), set.end());
  }
  if (all.empty()) {
    throw UsageError(fmt::format("scenarios '{}'{}: expected all, {} or a file", name,
                                 did_you_mean(name, scenario_set_names()),
                                 fmt::join(scenario_set_names(), ", ")));
  }
  return all;
}

OverlapScenario parse_scenario(std::string_view compute, std::string_view communication) {
  OverlapScenario scenario;
  scenario.source = "custom";
  scenario.compute = parse_side(compute);
  scenario.communication = parse_side(communication);
  scenario.name = name_of(scenario, compute, communication);
  return scenario;
}

OverlapScenario with_copy(OverlapScenario scenario, std::string_view copy) {
  if (scenario.copy) refuse(scenario, fmt::format("'{}': expected one copy beside both", copy));
  const OverlapSide side = parse_side(copy);
  if (!std::holds_alternative<CopySide>(side)) {
    throw UsageError(
        fmt::format("'{}' beside both: expected copy:KIND:BYTES or "
                    "copy:KIND:BYTES:EXECUTOR",
                    copy));
  }
  scenario.copy = std::get<CopySide>(side);
  scenario.name += " + " + name_with_bytes(side);
  return scenario;
}

void check_scenario(const OverlapScenario& scenario, int ranks) {
  for (const OverlapSide* side : {&scenario.compute, &scenario.communication}) {
    if (const auto* gemm = std::get_if<GemmProblem>(side)) check(scenario, *gemm);
    if (const auto* collective = std::get_if<CollectiveSide>(side)) {
      check(scenario, *collective, ranks);
    }
    if (const auto* copy = std::get_if<CopySide>(side)) check(scenario, *copy, ranks);
  }
  if (scenario.copy) check(scenario, *scenario.copy, ranks);
}

// all_to_all_v gets equal counts for all pairs. The element type is that of the GEMM's result.
Collective collective_of(const OverlapScenario& scenario, const CollectiveSide& side, int ranks) {
  const auto* gemm = std::get_if<GemmProblem>(&scenario.compute);
  Collective one;
  one.kind = side.kind;
  one.dtype = gemm != nullptr ? gemm->output : DType::bf16;
  const std::uint64_t bytes = side.bytes / static_cast<std::uint64_t>(scenario.pieces);
  one.count = count_for(one.kind, one.dtype, bytes, ranks);
  return one;
}

GemmProblem problem_of(const OverlapScenario& scenario, const GemmProblem& side) {
  GemmProblem piece = side;
  piece.m /= scenario.pieces;
  return piece;
}

CopySide copy_of(const OverlapScenario& scenario, const CopySide& side) {
  CopySide piece = side;
  piece.bytes /= static_cast<std::uint64_t>(scenario.pieces);
  return piece;
}

bool is_gemm_beside_collective(const OverlapScenario& scenario) {
  return !scenario.copy && std::holds_alternative<GemmProblem>(scenario.compute) &&
         std::holds_alternative<CollectiveSide>(scenario.communication);
}

GemmBesideCollective gemm_beside_collective(const OverlapScenario& scenario) {
  if (!is_gemm_beside_collective(scenario)) refuse(scenario, "expected a GEMM beside a collective");
  const auto& side = std::get<CollectiveSide>(scenario.communication);
  return {problem_of(scenario, std::get<GemmProblem>(scenario.compute)), side.kind,
          side.bytes / static_cast<std::uint64_t>(scenario.pieces)};
}

}  // namespace duet
