// Prometheus' text format, for node_exporter's textfile collector.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace duet {

using PrometheusLabels = std::vector<std::pair<const char*, std::string>>;

// The lines of one metric, whose head is written before its first sample.
class PrometheusGauge {
 public:
  PrometheusGauge(std::string name, const char* help) : name_(std::move(name)), help_(help) {}

  void add(const PrometheusLabels& labels, double value);
  // "" without samples.
  std::string text() const;

 private:
  std::string name_;
  const char* help_;
  std::string samples_;
};

}  // namespace duet
