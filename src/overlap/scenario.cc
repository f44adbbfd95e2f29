// Scenarios from TOML and from the command line.
#include "overlap/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/error.h"
#include "core/toml_table.h"
#include "core/units.h"
#include "gemm/shapes.h"

namespace duet {
namespace {

constexpr double kMostBytes = 1e15;  // doubles are whole numbers here

GemmProblem problem(std::string_view shape, std::string_view dtype) {
  const std::vector<GemmShape> shapes = parse_shapes(shape);
  if (shapes.size() != 1) {
    throw UsageError(fmt::format("gemm '{}': expected one shape MxNxK", shape));
  }
  GemmProblem problem{shapes[0].m, shapes[0].n, shapes[0].k, parse_dtype(dtype)};
  problem.output = default_output(problem.dtype);
  return problem;
}

std::uint64_t whole_bytes(TomlTable& table) {
  const double bytes = table.positive("bytes");
  if (bytes != std::floor(bytes) || bytes > kMostBytes) table.fail("bytes", "a number of bytes");
  return static_cast<std::uint64_t>(bytes);
}

void add_table(std::vector<OverlapScenario>& scenarios, TomlTable table) {
  OverlapScenario scenario;
  const std::string tag = table.text("name");
  scenario.source = table.text("source");
  scenario.compute = problem(table.text("gemm"), table.has("dtype") ? table.text("dtype") : "bf16");
  scenario.bytes = whole_bytes(table);
  if (table.has("pieces")) scenario.pieces = table.count("pieces", 1);
  const bool is_in_place = table.has("in_place") && table.truth("in_place");
  const std::vector<std::string> collectives = table.texts("collectives");
  table.finish();
  for (const std::string& each : collectives) {
    scenario.collective = parse_collective(each);
    scenario.name = fmt::format("{} {}", tag, each);
    scenarios.push_back(is_in_place ? in_place(scenario) : scenario);
  }
}

// "gemm:8192x57344x8192:bf16" and "all_gather:896M" after their first word.
std::vector<std::string> words_of(std::string_view text, std::size_t least, std::size_t most,
                                  const char* expected) {
  std::vector<std::string> words{""};
  for (const char c : text) {
    if (c == ':') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.size() >= least && words.size() <= most) return words;
  throw UsageError(fmt::format("'{}': expected {}", text, expected));
}

[[noreturn]] void refuse(const OverlapScenario& scenario, const std::string& why) {
  throw UsageError(fmt::format("scenario {}: {}", scenario.name, why));
}

}  // namespace

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
  root.finish();
  if (scenarios.empty()) throw UsageError(file + ": expected at least one [[scenario]]");
  return scenarios;
}

OverlapScenario in_place(OverlapScenario scenario) {
  if (!scenario.in_place) scenario.name += " in place";
  scenario.in_place = true;
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
    throw UsageError(fmt::format("scenarios '{}': expected all, {} or a file", name,
                                 fmt::join(scenario_set_names(), ", ")));
  }
  return all;
}

OverlapScenario parse_scenario(std::string_view compute, std::string_view communication) {
  const auto gemm = words_of(compute, 2, 3, "gemm:MxNxK or gemm:MxNxK:DTYPE");
  if (gemm[0] != "gemm") throw UsageError(fmt::format("'{}': expected gemm:MxNxK", compute));
  const auto collective = words_of(communication, 2, 2, "COLLECTIVE:BYTES, as all_gather:896M");
  OverlapScenario scenario;
  scenario.source = "custom";
  scenario.compute = problem(gemm[1], gemm.size() > 2 ? gemm[2] : "bf16");
  scenario.collective = parse_collective(collective[0]);
  scenario.bytes = parse_bytes(collective[1]);
  scenario.name = fmt::format("{}_{} {}", gemm[1], collective[1], collective[0]);
  return scenario;
}

void check_scenario(const OverlapScenario& scenario, int ranks) {
  const auto pieces = static_cast<std::uint64_t>(scenario.pieces);
  if (scenario.compute.m % scenario.pieces != 0) {
    refuse(scenario, fmt::format("M of {}: expected a multiple of its {} pieces",
                                 scenario.compute.m, scenario.pieces));
  }
  const Collective one = collective_of(scenario, ranks);
  if (one.count == 0 || size_bytes(one, ranks) * pieces != scenario.bytes) {
    refuse(scenario, fmt::format("{} bytes: expected as many elements of {} for each of {} ranks "
                                 "and {} pieces",
                                 scenario.bytes, name(one.dtype), ranks, scenario.pieces));
  }
}

// All to all by even parts: counts a pair.
Collective collective_of(const OverlapScenario& scenario, int ranks) {
  Collective one;
  one.kind = scenario.collective;
  one.dtype = scenario.compute.output;
  const std::uint64_t bytes = scenario.bytes / static_cast<std::uint64_t>(scenario.pieces);
  one.count = count_for(one.kind, one.dtype, bytes, ranks);
  return one;
}

GemmProblem problem_of(const OverlapScenario& scenario) {
  GemmProblem piece = scenario.compute;
  piece.m /= scenario.pieces;
  return piece;
}

}  // namespace duet
