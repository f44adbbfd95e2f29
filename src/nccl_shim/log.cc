#include "nccl_shim/log.h"

#include <unistd.h>

#include <cstdio>

#include "nccl_shim/last_error.h"
#include "nccl_shim/settings.h"

namespace duet::nccl_shim {

namespace {

void print(const std::string& line) {
  std::fprintf(stderr, "duet-nccl[%d]: %s\n", static_cast<int>(getpid()), line.c_str());
}

}  // namespace

void log_error(const std::string& line) {
  print(line);
  note_error(line);
}

void log_info(const std::string& line) {
  if (settings().log) print(line);
}

}  // namespace duet::nccl_shim
