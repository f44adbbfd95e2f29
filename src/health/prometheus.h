#pragma once

#include <string>

#include "health/report.h"

namespace duet {

// The first bytes of every such text. Only files that begin so are replaced.
extern const char* const kPrometheusHead;

// The report in Prometheus' text format, for node_exporter's textfile collector. `unix_seconds` is
// when the report was made.
std::string prometheus_text(const HealthReport& report, double unix_seconds);

}  // namespace duet
