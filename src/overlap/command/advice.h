// `duet advise` takes a device table from a file, from a journal or by measuring.
#pragma once

#include <string>
#include <vector>

#include "cli/flags.h"
#include "overlap/advisor/probes.h"
#include "overlap/advisor/score.h"
#include "results/journal.h"

namespace duet {

// The peaks that the maker of a model states; empty if specs/devices does not have the model.
DevicePeaks peaks_of(const std::string& model);

// The measurements of `duet overlap` in a journal.
struct JournalRows {
  DeviceTable device;  // describes the machine, without rows
  std::vector<OverlapRow> rows;
};
// Throws UsageError if the journal has no measurements of `duet overlap`, or those of several
// machines.
JournalRows rows_of(const std::string& path);

// Reads a journal of `duet advise --measure` (*.jsonl) or a table file. `device` and `ranks` choose
// among the tables of a file; with `device` "" the file must have one table alone. Throws
// UsageError.
DeviceTable read_table(const std::string& path, const std::string& device, int ranks);

// Measures the probes on a machine. Throws Error if a case fails.
DeviceTable measure_table(const std::string& device, ProbeOptions options,
                          const OutputFlags& output, const std::vector<std::string>& line);

// The output of `duet advise`.
std::string advice_text(const OverlapScenario& scenario, const DeviceTable& table,
                        const Advice& advice);
std::string score_text(const Score& score);

}  // namespace duet
