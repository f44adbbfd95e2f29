// Lines on standard error, each with the process it comes from.
#pragma once

#include <string>

namespace duet::nccl_shim {

void log_error(const std::string& line);  // also ncclGetLastError's text
void log_info(const std::string& line);   // only with DUET_NCCL_LOG=info

}  // namespace duet::nccl_shim
