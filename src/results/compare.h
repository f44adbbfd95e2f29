// Journals of two sides held against each other, case by case: one or several runs a side. A figure
// has changed if the change is outside of what runs of one program differ by (noise.h); nothing is
// averaged over cases.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "results/journal.h"
#include "results/record.h"

namespace duet {

enum class Change {
  worse,      // slower, or no longer a result: see ComparedCase::broke
  better,     // faster
  unchanged,  // within the noise
  missing,    // only in BASE
  added,      // only in NEW
  skipped,    // in both
  not_comparable
};
const char* name(Change change);  // "worse", "not comparable"

// Of several runs of a side the record is a broken run's where there is one, else that of the run
// whose median is in the middle (of two the faster).
struct ComparedCase {
  CaseId id;                     // BASE's where it has the case; its names of devices in any case
  const Record* base = nullptr;  // null: added
  const Record* now = nullptr;   // null: missing
  Change change = Change::unchanged;
  bool broke = false;               // measured or skipped in BASE, now wrong or failed
  std::optional<double> percent;    // the rate's change, -100 to infinity: that of 1 / time
  std::optional<double> noise;      // a fall of the rate by so many percent would not be seen
  bool one_sample = false;          // on one side at least
  std::string reason;               // why it is not comparable, or how it broke
  int base_runs = 0, now_runs = 0;  // that have the case
};

using JournalSide = std::vector<const JournalContents*>;

// All cases of BASE in its order, then those that only NEW has; of several records of a case in a
// journal the last counts. Results that follow from cases ("derived") have no interval and are left
// out. The records stay the journals'. Throws UsageError, naming the journals, if they are of
// different devices (unless `across_devices`, which matches machines and their devices by place) or
// the sides have no case in common.
std::vector<ComparedCase> compare(const JournalSide& base, const JournalSide& now,
                                  bool across_devices);

inline std::vector<ComparedCase> compare(const JournalContents& base, const JournalContents& now,
                                         bool across_devices) {
  return compare(JournalSide{&base}, JournalSide{&now}, across_devices);
}

// Those that are worse by more than `percent`, and those that broke.
std::vector<const ComparedCase*> regressions(const std::vector<ComparedCase>& cases,
                                             double percent);

}  // namespace duet
