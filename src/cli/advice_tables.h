// Where `duet advise` gets its tables: a file, a journal, or measuring now.
#pragma once

#include <string>
#include <vector>

#include "cli/flags.h"
#include "overlap/advisor/probes.h"
#include "results/journal.h"

namespace duet {

// What the maker of a model promises; empty where nothing is known of it.
DevicePeaks peaks_of(const std::string& model);

// The rows of a journal's machine, and the table of it with nothing in it. Throws UsageError for a
// journal without rows of duet overlap, or with those of several machines.
struct JournalRows {
  DeviceTable device;
  std::vector<OverlapRow> rows;
};
JournalRows rows_of(const std::string& path);

// From a journal of duet advise --measure (*.jsonl), else from a table file; `device` and `ranks`
// choose among its tables: with "" there must be one alone. Throws UsageError.
DeviceTable read_table(const std::string& path, const std::string& device, int ranks);

// By measuring the probes on a machine. Throws UsageError where a case fails; nothing is kept then.
DeviceTable measure_table(const std::string& device, ProbeOptions options,
                          const OutputFlags& output, const std::vector<std::string>& line);

}  // namespace duet
