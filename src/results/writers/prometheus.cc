#include "results/writers/prometheus.h"

#include <fmt/format.h>

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

void PrometheusGauge::add(const PrometheusLabels& labels, double value) {
  std::string inside;
  for (const auto& [key, text] : labels) {
    inside += fmt::format("{}{}=\"{}\"", inside.empty() ? "" : ",", key, escaped_label(text));
  }
  samples_ += name_ + (inside.empty() ? "" : "{" + inside + "}") + fmt::format(" {}\n", value);
}

std::string PrometheusGauge::text() const {
  if (samples_.empty()) return "";
  return fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n{2}", name_, help_, samples_);
}

}  // namespace duet
