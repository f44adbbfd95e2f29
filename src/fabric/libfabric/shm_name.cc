// "duet-<process>-<random>"; see shm_name.h.
#include "fabric/libfabric/shm_name.h"

#include <fmt/format.h>
#include <rdma/fi_cm.h>
#include <signal.h>
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

void remove_left_files() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, ignored)) {
    int process = 0;
    if (std::sscanf(entry.path().filename().c_str(), "duet-%d-", &process) != 1) continue;
    if (gone(process)) std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace

void name_shm_endpoint(fid_ep* endpoint) {
  remove_left_files();
  std::string name = fmt::format("fi_shm://duet-{}-{:08x}", getpid(), std::random_device()());
  DUET_FI_CHECK(fi_setname(&endpoint->fid, name.data(), name.size() + 1));
}

}  // namespace duet::libfabric
