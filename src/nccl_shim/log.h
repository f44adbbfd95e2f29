// Lines on standard error, each with the process it comes from.
#pragma once

#include <string>

namespace duet::nccl_shim {

void log_error(const std::string& line);  // also ncclGetLastError's text
void log_warning(const std::string& line);
void log_info(const std::string& line);  // only with DUET_NCCL_LOG=info

// The text of ncclGetLastError: that of the last failure in this process, whether it was the
// drop-in's or the real NCCL's.

// Of a failure of the drop-in's.
void note_error(const std::string& text);

// Valid until the thread's next call.
const char* last_error();

}  // namespace duet::nccl_shim
