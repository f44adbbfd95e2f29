#include "core/prometheus_text.h"

#include <fmt/format.h>

#include <chrono>

namespace duet {
namespace {

// Label values have three characters that are escaped.
std::string escaped_label(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void PrometheusMetric::add(const PrometheusLabels& labels, double value, const char* suffix) {
  std::string inside;
  for (const auto& [key, text] : labels) {
    inside += fmt::format("{}{}=\"{}\"", inside.empty() ? "" : ",", key, escaped_label(text));
  }
  samples_ +=
      name_ + suffix + (inside.empty() ? "" : "{" + inside + "}") + fmt::format(" {}\n", value);
}

std::string PrometheusMetric::text() const {
  if (samples_.empty()) return "";
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}", name_, help_, type_, samples_);
}

}  // namespace duet
