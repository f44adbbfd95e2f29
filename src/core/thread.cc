#include "core/thread.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "core/error.h"

namespace duet {
namespace {

// "ulimit -v 300000"; "" if there is no limit. `unit` is the shell's unit of the limit (-v: 1024).
std::string limit_text(int resource, const char* flag, rlim_t unit) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return fmt::format("ulimit {} {}", flag, limit.rlim_cur / unit);
}

// The memory limit of a container: "memory.max 2147483648"; "" if there is none.
std::string control_group_text() {
  // Without a stream, which allocates: memory may have run out.
  const int file = open("/sys/fs/cgroup/memory.max", O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  char text[32];
  const ssize_t length = read(file, text, sizeof text);
  close(file);
  const auto is_digit = [](char each) { return each >= '0' && each <= '9'; };
  const char* const end = std::find_if_not(text, text + std::max<ssize_t>(0, length), is_digit);
  return end == text ? "" : "memory.max " + std::string(text, static_cast<std::size_t>(end - text));
}

}  // namespace

std::string limits_text() {
  std::string all;
  for (const std::string& each :
       {limit_text(RLIMIT_NPROC, "-u", 1), limit_text(RLIMIT_AS, "-v", 1024),
        limit_text(RLIMIT_DATA, "-d", 1024), control_group_text()}) {
    if (!each.empty()) all += (all.empty() ? "" : ", ") + each;
  }
  return all.empty() ? "no ulimit" : all;
}

void cannot_start(const std::string& what, const std::error_code& reason) {
  throw Error(fmt::format("cannot start {}: {} ({})", what, reason.message(), limits_text()));
}

std::vector<int> allowed_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &mask)) cores.push_back(core);
  }
  return cores;
}

int current_core() { return sched_getcpu(); }

void bind_to(const std::vector<int>& cores) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &mask);
  sched_setaffinity(0, sizeof mask, &mask);
}

}  // namespace duet
