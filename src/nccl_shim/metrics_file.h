// The file of DUET_NCCL_METRICS: what call_counts.h has counted, for Prometheus.
#pragma once

#include <string>

namespace duet::nccl_shim {

// `name` with the process's id for %p and the host's name for %h, as in NCCL_DEBUG_FILE, and % for
// %%. Throws UsageError for another letter, which tells what was expected.
std::string file_of_process(const std::string& name);

// Begins to write the file of this process every 10 s and at its end, unless that has begun. A
// process that was forked from one that writes writes none.
void start_metrics_file();

}  // namespace duet::nccl_shim
