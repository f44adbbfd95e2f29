// The data of the report page, made from journals: the last record of each case with its verdict,
// the ceilings of their devices, and the rows that studies report. The page's script reads it; its
// form is in web/model.js.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "results/record.h"

namespace duet {

struct ReportJournal {
  std::string name;             // the path; the page shows the file name
  std::vector<Record> records;  // environments and results that have passed check_record
  std::vector<std::string> warnings;
};

Record report_data(const std::vector<ReportJournal>& journals);
// `history`: figures over time, as history_series() of history/table.h makes them; null: none.
Record report_data(const std::vector<ReportJournal>& journals, const Record& history);

// What studies report (specs/reported), shown in charts beside what was measured: rates of GEMMs,
// training steps of one device, and of several, iterations of halo exchange, collectives over
// nodes.
const Record& reported_rows();
const Record& reported_steps();
const Record& reported_parallel_steps();
const Record& reported_halo();
const Record& reported_collectives();
const std::map<std::string, std::string_view>& built_in_reported();

}  // namespace duet
