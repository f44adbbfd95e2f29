// Runs cases one by one: passes over what a journal has already, turns errors into records, stops
// when asked, and hands every record to the writers. Knows no flags and no files.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "results/record.h"
#include "results/writers/progress.h"
#include "results/writers/writer.h"
#include "team/processes.h"
#include "timing/measurement.h"

namespace duet {

struct Job {
  Section section;
  Benchmark benchmark;
};

struct RunnerOptions {
  std::map<std::string, const Record*> earlier;  // by case_key(), from the journal
  std::function<bool()> stop;                    // asked before every case
  // Asked of every record: true has the case measured once more, unless it was already. The second
  // record counts, with the first one's median in its notes.
  std::function<bool(const Record&)> doubtful;
  bool load = false;  // keep in each record how busy the host was with others
  Progress* progress = nullptr;
  // Where there are several, all run the same jobs, and process 0's journal, doubts and interrupts
  // of any decide for all. nullptr: this one alone.
  Processes* processes = nullptr;
};

struct Tally {
  int cases = 0;                                         // planned
  int resumed = 0;                                       // of the journal
  int measured = 0, skipped = 0, wrong = 0, failed = 0;  // the journal's included
  bool interrupted = false;
  std::map<std::string, int> reasons;  // of what was skipped, and how often
  std::string lost;  // the process without which the run could not go on, in words
};

Tally run_jobs(const std::vector<Job>& jobs, const std::vector<Writer*>& writers,
               const RunnerOptions& options);

}  // namespace duet
