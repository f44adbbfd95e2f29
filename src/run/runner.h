#pragma once

#include <functional>
#include <map>
#include <ostream>
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
  std::function<bool()> stop;                    // called before every case; true ends the run
  // Called with every record. If it returns true, the case is measured once more, unless that
  // happened already. The second record counts, with the first median in its notes.
  std::function<bool(const Record&)> doubtful;
  bool load = false;  // record the host's load during each case
  Progress* progress = nullptr;
  // All processes run the same jobs. Process 0's journal and doubts, and an interrupt of any
  // process, apply to all. nullptr: this process alone.
  Processes* processes = nullptr;
};

struct Tally {
  int cases = 0;                                         // planned
  int resumed = 0;                                       // taken from the journal
  int measured = 0, skipped = 0, wrong = 0, failed = 0;  // including those from the journal
  bool interrupted = false;
  // With the number of cases: why they were skipped, and why they failed or left wrong data.
  std::map<std::string, int> skipped_for, failed_for;
  std::string lost;  // message about the process whose loss ended the run, "" if none
};

// Runs all cases, one after the other, and passes every record to the writers. Cases that the
// earlier journal has are not repeated, except wrong and failed ones. Errors of a case become its
// record. All processes of the run call it together.
Tally run_jobs(const std::vector<Job>& jobs, const std::vector<Writer*>& writers,
               const RunnerOptions& options);

// A line for each case ("gemm on host, onednn, 512 x 512 x 512 fp32 nn"), then how many there are
// and how long those on real devices may take: by the modes' own times, what is usual for
// preparation, and, on CPUs, the FLOP of GEMMs and training steps.
void print_cases(const std::vector<Job>& jobs, std::ostream& out);

}  // namespace duet
