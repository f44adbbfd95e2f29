#include "report/report.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/output_file.h"
#include "core/units.h"

namespace duet {
namespace {

constexpr const char* kMarker = "<!--DATA-->";  // where the page's template wants its data

// JSON for a script element: escapes what would end the element or begin a comment.
std::string script_text(const Json& data) {
  std::string text;
  for (const char c : data.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

std::string page_of(const Json& data) {
  std::string page(built_in_page().at("page"));
  const std::size_t at = page.find(kMarker);
  if (at == std::string::npos) throw Error("the report page has no place for its data");
  return page.replace(
      at, std::string(kMarker).size(),
      "<script type=\"application/json\" id=\"data\">" + script_text(data) + "</script>");
}

}  // namespace

const char* const kReportHead = "<!doctype html>\n<!-- duet report -->\n";

bool has_report_page() { return !built_in_page().empty(); }

std::string no_report_page() {
  return "this duet was built without the report page, which takes Node.js, npm and its registry: "
         "expected a build with them (cmake says what was missing)";
}

void check_report_name(const std::string& flag, const std::string& path) {
  const bool fits = ends_with(path, kReportEnding) && path != kReportEnding;
  if (fits || OutputFile::is_special(path)) return;
  throw UsageError(flag + " " + path + ": expected a name that ends in .html");
}

std::string report_page(const std::vector<ReportJournal>& journals) {
  return report_page(journals, Json());
}

std::string report_page(const std::vector<ReportJournal>& journals, const Json& history) {
  if (!has_report_page()) throw Unavailable(no_report_page());
  return page_of(report_data(journals, history));
}

std::string fleet_page(const Json& fleet) {
  if (!has_report_page()) throw Unavailable(no_report_page());
  Json data = report_data({});
  data["fleet"] = fleet;
  return page_of(data);
}

}  // namespace duet
