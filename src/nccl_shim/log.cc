#include "nccl_shim/log.h"

#include <unistd.h>

#include <cstdio>

#include "nccl_shim/settings.h"

namespace duet::nccl_shim {

void log_error(const std::string& line) {
  std::fprintf(stderr, "duet-nccl[%d]: %s\n", static_cast<int>(getpid()), line.c_str());
}

void log_info(const std::string& line) {
  if (settings().log) log_error(line);
}

}  // namespace duet::nccl_shim
