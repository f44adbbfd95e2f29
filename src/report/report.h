// The report: journals as one page for the browser that needs nothing else. What the page looks
// like is src/report/web, bundled when Duet is built; what it shows is data.h.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/data.h"

namespace duet {

// False where Duet was built without the page; no_report_page() says what it takes to have it, and
// report_page() throws that as Unavailable.
bool has_report_page();
std::string no_report_page();

inline constexpr const char* kReportEnding = ".html";
inline constexpr const char* kDefaultReport = "report.html";
// Throws UsageError, naming the flag, if a report may not be called so.
void check_report_name(const std::string& flag, const std::string& path);

// How every report begins; an OutputFile may replace what begins like this.
extern const char* const kReportHead;

std::string report_page(const std::vector<ReportJournal>& journals);

// The page's template, by the name "page"; empty where it was not built.
const std::map<std::string, std::string_view>& built_in_page();

}  // namespace duet
