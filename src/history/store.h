// A store keeps the figures of runs from many journals. Its tables, which other programs may read:
//
//   run      id, key, time_utc, host, revision, journal
//   figure   run, case_key, benchmark, device, model, engine, case_text, rate, value, main
//
// A figure is one rate of a case that was measured or derived; main is 1 for a case's first rate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "history/sqlite.h"
#include "results/journal.h"

namespace duet {

struct AddedRuns {
  int added = 0;
  int replaced = 0;  // that the store had: a journal that has grown meanwhile
  int kept = 0;      // of which the store has all that the journal has, and more
  int figures = 0;   // of those that were added or replaced
};

struct HistoryFilter {
  std::vector<std::string> words;  // all in the line of the case: "gemm on host, onednn, 512 x ..."
  std::string device;              // part of the device's name, its model or its host; "": any
  std::string rate;                // "": the first rate of each case
};

// One figure at one time.
struct HistoryPoint {
  std::string time_utc, host, revision;
  std::string benchmark, device, model, engine, case_text, rate;
  double value = 0;
};

// True for times as journals have them, "2026-11-21T02:00:00Z", of a day that there is.
bool is_time_utc(const std::string& text);

// Throws UsageError where a run of the journal does not say when it was, and `time_utc` is "", and
// where a time is none.
void require_times(const JournalContents& journal, const std::string& time_utc);

class Store {
 public:
  // Opens a store, or creates it. Throws as Database does, and UsageError for a database that is no
  // store and for a name that cannot be a file's ("-", a device).
  explicit Store(const std::string& path);

  // Adds each run of a journal. A run of the store with the same time and environment is replaced
  // if it is the same run: its figures are among the new ones. Runs without a common case are two.
  // Otherwise a journal with a time of its own replaces its run; for one without, which may be
  // another run, it throws UsageError and adds nothing. `time_utc` is for journals that have no
  // time, as require_times() has it.
  AddedRuns add(const JournalContents& journal, const std::string& time_utc);

  // Each run as a journal, by time: its environment, and the first rate of each case as a record
  // that was measured, without times.
  void each_run(const std::function<void(JournalContents)>& take);

  // Sorted by figure and host, then by time.
  std::vector<HistoryPoint> points(const HistoryFilter& filter);

 private:
  Database database_;
};

}  // namespace duet
