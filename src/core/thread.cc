#include "core/thread.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include "core/error.h"

namespace duet {
namespace {

// "ulimit -v 300000"; "" if there is no limit. `unit` is the shell's unit of the limit (-v: 1024).
std::string limit_text(int resource, const char* flag, rlim_t unit) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return fmt::format("ulimit {} {}", flag, limit.rlim_cur / unit);
}

}  // namespace

std::string limits_text() {
  const std::string threads = limit_text(RLIMIT_NPROC, "-u", 1);
  const std::string memory = limit_text(RLIMIT_AS, "-v", 1024);
  if (threads.empty() && memory.empty()) return "no ulimit";
  return threads + (threads.empty() || memory.empty() ? "" : ", ") + memory;
}

void cannot_start(const std::string& what, const std::error_code& reason) {
  throw Error(fmt::format("cannot start {}: {} ({})", what, reason.message(), limits_text()));
}

}  // namespace duet
