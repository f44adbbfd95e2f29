#include "run/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "results/record_kind.h"
#include "verdict/device_spec.h"

namespace duet {
namespace {

// "8 x AMD Instinct MI300X".
std::string hardware(Machine& machine) {
  std::map<std::string, int> models;
  for (int i = 0; i < machine.size(); ++i) ++models[machine.device(i).info().model];
  std::string text;
  for (const auto& [model, count] : models) {
    text += text.empty() ? "" : ", ";
    text += count > 1 ? fmt::format("{} x {}", count, model) : model;
  }
  return text;
}

}  // namespace

int process_count(const RunPlan& plan) {
  return plan.processes != nullptr ? plan.processes->size() : 1;
}

namespace {

// Lets a case of a simulated machine say what its figures rest on.
void say_basis(Case& one, Machine& machine) {
  if (!machine.is_virtual()) return;
  const SimulatedBasis* basis = simulated_basis(machine.device(0).info().model, one.id.benchmark);
  if (basis == nullptr) return;
  one.run = [run = std::move(one.run), basis] {
    Measurement measured = run();
    if (measured.skipped) return measured;
    measured.notes.emplace_back("fitted_to", basis->fitted_to);
    measured.notes.emplace_back("compared_with",
                                basis->compared_with.empty()
                                    ? "no measurement of this kind was ever compared"
                                    : basis->compared_with);
    return measured;
  };
}

}  // namespace

void add_job(RunPlan& plan, Machine& machine, Benchmark benchmark, const std::string& name) {
  // A size or shape that the user named twice runs once.
  std::set<std::string> seen;
  auto& cases = benchmark.cases;
  const auto again = [&](const Case& one) { return !seen.insert(case_key(one.id)).second; };
  cases.erase(std::remove_if(cases.begin(), cases.end(), again), cases.end());
  if (cases.empty()) return;
  for (Case& one : cases) say_basis(one, machine);
  // "gemm" of "gemm_peak" and "gemm_search".
  const std::string& first = cases.front().id.benchmark;
  Section section{record_kind(first).own_section ? first : first.substr(0, first.find('_')),
                  name.empty() ? machine.name() : name,
                  hardware(machine),
                  {}};
  if (const int processes = process_count(plan); processes > 1) {
    section.hardware += fmt::format("; {} processes", processes);
  }
  for (const Case& one : cases) section.cases.push_back(one.id);
  plan.jobs.push_back({std::move(section), std::move(benchmark)});
}

}  // namespace duet
