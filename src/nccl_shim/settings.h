// The environment variables of the drop-in.
#pragma once

#include <string>

namespace duet::nccl_shim {

enum class Mode { automatic, off };

struct Settings {
  std::string real_path;        // DUET_NCCL: the real libnccl.so.2; empty: the one that is loaded
  Mode mode = Mode::automatic;  // DUET_NCCL_MODE
  bool log = false;             // DUET_NCCL_LOG=info
};

// Throws UsageError, which names the variable, what it holds and what was expected.
Settings read_settings();

// What read_settings() gave at the first call. Throws the same error at every call.
const Settings& settings();

}  // namespace duet::nccl_shim
