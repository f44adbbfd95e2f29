#pragma once

#include <string>

#include "health/report.h"

namespace duet {

// The report in Prometheus' text format, for node_exporter's textfile collector. `unix_seconds` is
// when the report was made.
std::string prometheus_text(const HealthReport& report, double unix_seconds);

}  // namespace duet
