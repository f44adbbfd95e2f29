#pragma once

#include <string>
#include <utility>
#include <vector>

namespace duet {

using PrometheusLabels = std::vector<std::pair<const char*, std::string>>;

// The lines of one metric in Prometheus' text format, whose head is written before its first
// sample. Names and help are the caller's own words; values of labels may be any text.
class PrometheusMetric {
 public:
  // `type`: "gauge", "counter" or "histogram".
  PrometheusMetric(std::string name, const char* type, const char* help)
      : name_(std::move(name)), type_(type), help_(help) {}

  // `suffix` is of a histogram's samples: "_bucket", "_sum", "_count".
  void add(const PrometheusLabels& labels, double value, const char* suffix = "");

  std::string text() const;  // "" without samples

 private:
  std::string name_;
  const char* type_;
  const char* help_;
  std::string samples_;
};

// The time now in seconds since 1970, as metrics state times.
double unix_seconds();

inline PrometheusMetric prometheus_gauge(std::string name, const char* help) {
  return {std::move(name), "gauge", help};
}

}  // namespace duet
