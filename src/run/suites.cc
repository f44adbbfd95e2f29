#include "run/suites.h"

#include <algorithm>
#include <iterator>

#include "core/error.h"
#include "core/names.h"

namespace duet {
namespace {

std::vector<SuiteEntry> entries_where(const std::function<bool(const SuiteEntry&)>& wanted) {
  std::vector<SuiteEntry> entries;
  for (const Workload* workload : workloads()) {
    std::copy_if(workload->suites.begin(), workload->suites.end(), std::back_inserter(entries),
                 wanted);
  }
  return entries;
}

}  // namespace

std::vector<Suite> suites() {
  return {{"quick",
           "Each kind of benchmark, shortened: on the CPU, between two ends of the network on this "
           "machine, on sim:mi300x-8 and on GPUs where there are any; under two minutes",
           {"host", "sim", "cuda", "hip"}},
          {"seed",
           "All that the studies measured, in full: every shape set, dtype and layout, every kind "
           "of copy and collective at every size, training steps of every model, on sim:mi300x-8 "
           "and sim:mi350x-8 and on GPUs where there are any",
           {"sim", "cuda", "hip", "host"}}};
}

std::vector<SuiteEntry> entries_of(const Suite& suite) {
  std::vector<SuiteEntry> all;
  for (const std::string& kind : suite.kinds) {
    const std::vector<SuiteEntry> entries = entries_where([&](const SuiteEntry& entry) {
      return entry.suite == suite.name && entry.device.substr(0, entry.device.find(':')) == kind;
    });
    all.insert(all.end(), entries.begin(), entries.end());
  }
  return all;
}

std::vector<SuiteEntry> health_entries(bool of_cpu) {
  const std::string device = of_cpu ? "host" : "";
  return entries_where(
      [&](const SuiteEntry& entry) { return entry.suite == "health" && entry.device == device; });
}

Suite find_suite(const std::string& name) {
  for (const Suite& suite : suites()) {
    if (suite.name == name) return suite;
  }
  std::vector<std::string> names;
  for (const Suite& suite : suites()) names.push_back(suite.name);
  throw UsageError("unknown suite '" + name + "'" + did_you_mean(name, names) + ": expected " +
                   known_suites());
}

std::string known_suites() {
  std::string known;
  for (const Suite& suite : suites()) known += (known.empty() ? "" : " or ") + suite.name;
  return known;
}

void add_entry(RunPlan& plan, Machine& machine, const SuiteEntry& entry,
               const std::function<bool()>& stop) {
  if (auto benchmark = entry.make(machine, entry.device, stop)) {
    add_job(plan, machine, std::move(*benchmark));
  }
}

}  // namespace duet
