// Makes the report: journals as one HTML page that needs no other file. Its script, src/report/web,
// is bundled when Duet is built; its data are those of data.h.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/data.h"

namespace duet {

// False if Duet was built without the page. no_report_page() then tells how to build it, and
// report_page() throws Unavailable with that text.
bool has_report_page();
std::string no_report_page();

inline constexpr const char* kReportEnding = ".html";
inline constexpr const char* kDefaultReport = "report.html";
// Throws UsageError, naming the flag, if `path` is not a valid name of a report.
void check_report_name(const std::string& flag, const std::string& path);

// The first bytes of every report. OutputFile::replace_whole() overwrites only files that begin so.
extern const char* const kReportHead;

std::string report_page(const std::vector<ReportJournal>& journals);
std::string report_page(const std::vector<ReportJournal>& journals, const Json& history);

// The page of a fleet of nodes in place of journals. `fleet`: as fleet_page_data() of
// fleet/report.h makes it.
std::string fleet_page(const Json& fleet);

// The template of the page under the key "page"; empty if it was not built.
const std::map<std::string, std::string_view>& built_in_page();

}  // namespace duet
