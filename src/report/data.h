// What the page shows, made of journals alone: their records that count, each with its verdict, the
// ceilings of their devices, and the rows that studies report. The page's own script reads it
// (web/model.js has its form).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "results/record.h"

namespace duet {

struct ReportJournal {
  std::string name;             // its path: the page shows the file name
  std::vector<Record> records;  // environments and results, as the journal's reader accepts them
  std::vector<std::string> warnings;
};

Record report_data(const std::vector<ReportJournal>& journals);

// specs/reported: rates that studies report of machines, for charts to show beside measured ones.
const Record& reported_rows();
const std::map<std::string, std::string_view>& built_in_reported();

}  // namespace duet
