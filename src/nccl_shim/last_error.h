// The text of ncclGetLastError: that of the last failure in this process, whether it was the
// drop-in's or the real NCCL's.
#pragma once

#include <string>

namespace duet::nccl_shim {

// Of a failure of the drop-in's.
void note_error(const std::string& text);

// Valid until the thread's next call.
const char* last_error();

}  // namespace duet::nccl_shim
