#include "run/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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

void add_job(RunPlan& plan, Machine& machine, Benchmark benchmark, const std::string& name) {
  // A size or shape that the user named twice runs once.
  std::set<std::string> seen;
  auto& cases = benchmark.cases;
  const auto again = [&](const Case& one) { return !seen.insert(case_key(one.id)).second; };
  cases.erase(std::remove_if(cases.begin(), cases.end(), again), cases.end());
  if (cases.empty()) return;
  // The section of "gemm_peak" and "gemm_search" is "gemm".
  const std::string& first = cases.front().id.benchmark;
  Section section{first.substr(0, first.find('_')),
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
