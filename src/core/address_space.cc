#include "core/address_space.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "core/affinity.h"
#include "core/thread.h"

namespace duet {

std::string no_room_for(std::uint64_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  const std::uint64_t all = bytes * (allowed_cores().size() + 1);
  void* room = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    return fmt::format("it may map {} MiB when it is opened: expected more than {} leaves",
                       all >> 20, limits_text());
  }
  munmap(room, all);
  return "";
}

}  // namespace duet
