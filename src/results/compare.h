// Compares two sides case by case; a side is the journals of one or several runs. A figure counts
// as changed if its change exceeds the noise between runs of one program (noise.h). A rate's change
// is a ratio, that of a fraction of the ideal a difference. No verdict averages over cases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/journal.h"
#include "results/record.h"

namespace duet {

// A comparison should be able to detect a change of this size.
inline constexpr double kPlainPercent = 10;

enum class Change {
  worse,      // slower, or no longer a result: see ComparedCase::broke
  better,     // faster
  unchanged,  // within the noise
  too_noisy,  // within the noise, which is above kPlainPercent
  missing,    // only in BASE
  added,      // only in NEW
  skipped,    // in both
  not_comparable
};
const char* name(Change change);  // "worse", "not comparable"

// One case of both sides. Where a side has several runs, its record is that of a run that went
// wrong or failed, if there is one. Otherwise it is that of the run with the middle median (of an
// even number of runs the faster middle one).
struct ComparedCase {
  CaseId id;                     // with BASE's names of devices
  const Record* base = nullptr;  // null: added
  const Record* now = nullptr;   // null: missing
  Change change = Change::unchanged;
  bool broke = false;             // measured or skipped in BASE, now wrong or failed
  std::optional<double> percent;  // change of the rate (1 / time), -100 to infinity
  std::optional<double> noise;    // in percent: a smaller fall of the rate is no change
  // Of overlaps, in place of `percent` and `noise`: the difference of the fractions of the ideal,
  // and the smallest one that is a change.
  std::optional<double> difference, difference_noise;
  bool one_sample = false;          // a side's record has one sample, so no interval
  std::string reason;               // why the case is not comparable, or how it broke
  int base_runs = 0, now_runs = 0;  // runs that have the case
};

using JournalSide = std::vector<const JournalContents*>;

// Returns all cases of BASE in its order, then the cases that only NEW has. If a journal has
// several records of a case, the last one counts. Results that follow from cases ("derived") have
// no interval and are left out. ComparedCase points to records of the journals, which must outlive
// it. `across_devices` matches machines and their devices by their order instead of by name. Throws
// UsageError, naming the journals, if the sides have no case in common, or if they are of different
// devices and `across_devices` is not set.
std::vector<ComparedCase> compare(const JournalSide& base, const JournalSide& now,
                                  bool across_devices);

inline std::vector<ComparedCase> compare(const JournalContents& base, const JournalContents& now,
                                         bool across_devices) {
  return compare(JournalSide{&base}, JournalSide{&now}, across_devices);
}

// The cases whose rate fell by more than `percent`, or whose fraction of the ideal fell by more
// than as many hundredths, and more than the noise; and those that broke.
std::vector<const ComparedCase*> regressions(const std::vector<ComparedCase>& cases,
                                             double percent);

// The name of the rate by which both sides of a case are shown: the first rate of the side that has
// one. "" if neither side is measured, or what was measured has no rate.
std::string comparison_rate(const ComparedCase& one);

}  // namespace duet
