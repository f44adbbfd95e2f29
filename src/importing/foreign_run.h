// The results of a run of another tool, as far as its output tells them, and the records of a
// journal that say the same.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/journal.h"
#include "timing/measurement.h"

namespace duet {

struct ForeignDevice {
  std::string name;   // "cuda:0"
  std::string model;  // as the tool prints it
  std::string bus;    // PCI address as the tool prints it; "": unknown

  bool operator==(const ForeignDevice& other) const {
    return name == other.name && model == other.model && bus == other.bus;
  }
};

// One figure. If `skipped` or `failed` is set, there is none.
struct ForeignCase {
  std::string benchmark;
  Axes axes;
  double seconds = 0;            // of one call: the tool's own figure, which is mostly a mean
  Cost cost;                     // what is not known is 0
  std::optional<bool> verified;  // false: the data were wrong; nullopt: the output does not tell
  std::string wrong;             // in words, where `verified` is false
  std::optional<int> warm_ups;
  std::vector<std::pair<std::string, std::string>> notes;
  std::optional<std::string> skipped, failed;  // the reason, in words
  std::string place;  // in the output: the number of a line, or "results[2]" of JSON
};

struct ForeignRun {
  std::string tool;     // the engine of all cases: "nccl-tests"
  std::string version;  // of the tool; "": unknown
  std::string form;     // "text", "JSON", "CSV"
  std::string machine;  // the device of all cases; the tool's name where the devices are unknown
  std::string kind;     // of the devices: "cuda"
  std::vector<ForeignDevice> devices;  // empty: unknown
  int processes = 1;
  std::string host, command;                                   // "": unknown
  std::vector<std::pair<std::string, std::string>> libraries;  // by name, their versions
  std::vector<ForeignCase> cases;                              // by add_case
  std::map<std::string, std::string> places;  // of the cases, by benchmark and axes
};

// Throws UsageError if the run has the case already: the last record of a case counts, so that all
// others would be lost. Also if the case's time is not finite.
void add_case(ForeignRun& run, ForeignCase one);

// The run's environment, which says that it was imported and from which file, and a result of each
// case. What the tool's output does not tell is not known in them.
JournalRun records_of(const ForeignRun& run, const std::string& file);

}  // namespace duet
