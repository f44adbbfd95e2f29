// The data of the report page, made from journals: the last record of each case with its verdict,
// the ceilings of their devices, and the rows that studies report. The page's script reads it; its
// form is in web/model.js.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "results/journal.h"
#include "results/record_json.h"

namespace duet {

struct ReportJournal {
  std::string name;  // the path; the page shows the file name
  std::vector<JournalRun> runs;
  std::vector<std::string> warnings;
};

Json report_data(const std::vector<ReportJournal>& journals);
// `history`: figures over time, as history_series() of history/table.h makes them; null: none.
Json report_data(const std::vector<ReportJournal>& journals, const Json& history);

// What studies report (specs/reported), shown in charts beside what was measured: rates of GEMMs,
// training steps of one device, and of several, iterations of halo exchange, collectives over
// nodes.
const Json& reported_rows();
const Json& reported_steps();
const Json& reported_parallel_steps();
const Json& reported_halo();
const Json& reported_collectives();
const std::map<std::string, std::string_view>& built_in_reported();

}  // namespace duet
