// The report: journals as one page for the browser that needs nothing else. What the page looks
// like is src/report/web, bundled when Duet is built; what it shows is data.h.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/data.h"

namespace duet {

// False where Duet was built without Node.js: then report_page() throws Unavailable, which says so.
bool has_report_page();

// How every report begins; an OutputFile may replace what begins like this.
extern const char* const kReportHead;

std::string report_page(const std::vector<ReportJournal>& journals);

// The page's template, by the name "page"; empty where it was not built.
const std::map<std::string, std::string_view>& built_in_page();

}  // namespace duet
