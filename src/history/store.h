// A store keeps the figures of runs from many journals. Its tables, which other programs may read:
//
//   run      id, key, time_utc, host, revision, journal
//   figure   run, case_key, benchmark, device, model, engine, case_text, rate, value, main
//
// A figure is one rate of a case that was measured or derived; main is 1 for a case's first rate.
#pragma once

#include <string>
#include <vector>

#include "history/sqlite.h"
#include "results/journal.h"

namespace duet {

struct AddedRuns {
  int added = 0;
  int replaced = 0;  // that the store had: a journal that has grown meanwhile
  int figures = 0;
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

// Throws UsageError where a run of the journal does not say when it was, and `time_utc` is "".
void require_times(const JournalContents& journal, const std::string& time_utc);

class Store {
 public:
  // Opens a store, or creates it. Throws as Database does, and UsageError for a database that is no
  // store.
  explicit Store(const std::string& path);

  // Adds each run of a journal. `time_utc` is for journals that have no time, as require_times()
  // has it.
  AddedRuns add(const JournalContents& journal, const std::string& time_utc);

  // Sorted by figure and host, then by time.
  std::vector<HistoryPoint> points(const HistoryFilter& filter);

 private:
  Database database_;
};

}  // namespace duet
