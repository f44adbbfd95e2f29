#include "fabric/polling_core.h"

#include <hwloc.h>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/packing.h"
#include "core/thread.h"
#include "device/memory_descriptor.h"

namespace duet {
namespace {

// Smaller is better.
int distance(hwloc_topology_t topology, int core, int numa_node) {
  const hwloc_obj_t thread = hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(core));
  if (thread == nullptr) return 0;
  const bool far = numa_node >= 0 && thread->nodeset != nullptr &&
                   hwloc_bitmap_isset(thread->nodeset, static_cast<unsigned>(numa_node)) == 0;
  const hwloc_obj_t whole = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, thread);
  const bool second =
      whole != nullptr && hwloc_bitmap_first(whole->cpuset) != static_cast<int>(thread->os_index);
  return (far ? 2 : 0) + (second ? 1 : 0);
}

void sort_by_distance(std::vector<int>& cores, int numa_node) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return;
  if (hwloc_topology_load(topology) == 0) {
    std::stable_sort(cores.begin(), cores.end(), [&](int a, int b) {
      return distance(topology, a, numa_node) < distance(topology, b, numa_node);
    });
  }
  hwloc_topology_destroy(topology);
}

constexpr int kPollsPerClockRead = 16;
constexpr double kIdleSeconds = 15e-6;  // yielding a core that nobody waits for costs 0.6 us

}  // namespace

std::string UsableCores::text() const {
  std::vector<std::string> items = {machine};
  for (const int core : cores) items.push_back(std::to_string(core));
  return pack(items);
}

UsableCores UsableCores::parse(const std::string& text) {
  const std::vector<std::string> items = unpack(text);
  if (items.empty()) throw Error("another process sent its cores in an unknown format");
  UsableCores usable{items[0], {}};
  for (std::size_t i = 1; i < items.size(); ++i) usable.cores.push_back(std::stoi(items[i]));
  return usable;
}

std::vector<int> beginning_with(int core, std::vector<int> cores) {
  const auto found = std::find(cores.begin(), cores.end(), core);
  if (found != cores.end()) std::rotate(cores.begin(), found, cores.end());
  return cores;
}

UsableCores usable_cores(int numa_node) {
  UsableCores usable{this_boot(), beginning_with(current_core(), allowed_cores())};
  sort_by_distance(usable.cores, numa_node);
  return usable;
}

std::optional<int> choose_core(const std::vector<UsableCores>& all, std::size_t self) {
  std::set<int> taken;
  std::optional<int> own;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].machine != all[self].machine) continue;
    const auto free = [&](int core) { return taken.count(core) == 0; };
    const auto found = std::find_if(all[i].cores.begin(), all[i].cores.end(), free);
    if (found == all[i].cores.end()) return std::nullopt;
    taken.insert(*found);
    if (i == self) own = *found;
  }
  return own;
}

void PollingCore::hold() {
  if (!core_ || !before_.empty()) return;
  before_ = allowed_cores();
  if (!before_.empty()) bind_to({*core_});
}

void PollingCore::release() {
  if (!before_.empty()) bind_to(before_);
  before_.clear();
}

// Time that others had on the core counts as idle: it is yielded again at the next clock read.
void PollingCore::polled(bool found) {
  found_ = found_ || found;
  if (++polls_ % kPollsPerClockRead != 0) return;
  const double now = steady_now();
  if (std::exchange(found_, false)) idle_since_ = now;
  if (now - idle_since_ < kIdleSeconds) return;
  idle_since_ = now;
  std::this_thread::yield();
}

}  // namespace duet
