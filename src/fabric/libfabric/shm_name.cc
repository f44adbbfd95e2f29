#include "fabric/libfabric/shm_name.h"

#include <fmt/format.h>
#include <rdma/fi_cm.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>

#include "fabric/libfabric/check.h"

namespace duet::libfabric {
namespace {

constexpr const char* kFolder = "/dev/shm";  // where shm_open() keeps files

bool gone(int process) { return kill(process, 0) != 0 && errno == ESRCH; }

// Containers may share the folder, and count processes each for itself.
std::string own_prefix() {
  struct stat counted {};
  static_cast<void>(stat("/proc/self/ns/pid", &counted));
  return fmt::format("duet-{}-", counted.st_ino);
}

void remove_left_files(const std::string& prefix) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, ignored)) {
    const std::string name = entry.path().filename();
    int process = 0;
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    if (std::sscanf(name.c_str() + prefix.size(), "%d-", &process) != 1) continue;
    if (gone(process)) std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace

void name_shm_endpoint(fid_ep* endpoint) {
  const std::string prefix = own_prefix();
  remove_left_files(prefix);
  std::string name = fmt::format("fi_shm://{}{}-{:08x}", prefix, getpid(), std::random_device()());
  DUET_FI_CHECK(fi_setname(&endpoint->fid, name.data(), name.size() + 1));
}

}  // namespace duet::libfabric
