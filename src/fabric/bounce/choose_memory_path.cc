#include "fabric/bounce/choose_memory_path.h"

#include <algorithm>

#include "core/deadline.h"
#include "core/error.h"
#include "fabric/library.h"

namespace duet {
namespace {

constexpr std::uint64_t kProbeBytes = 64 << 10;

bool library_reaches(const std::string& provider, const Buffer& memory) {
  try {
    const FabricLibrary& library = fabric_library();
    const auto rail = library.open(provider, library.rails(provider).at(0), true);
    rail->register_memory(memory.span());
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool shareable(Device& device, const Buffer& memory) {
  try {
    device.close_export(device.export_memory(memory.span()));
    return true;
  } catch (const Unavailable&) {
    return false;
  }
}

MemoryPath first_that_works(const std::string& provider, Device& device) {
  if (device.info().cpu_addressable) return MemoryPath::direct;
  const Buffer probe = device.allocate(kProbeBytes);
  if (library_reaches(provider, probe)) return MemoryPath::direct;
  return provider == "shm" && shareable(device, probe) ? MemoryPath::ipc : MemoryPath::staged;
}

}  // namespace

MemoryPath choose_memory_path(Processes& processes, const std::string& provider, Device& device,
                              std::optional<MemoryPath> wanted) {
  if (wanted) return *wanted;
  const MemoryPath own = first_that_works(provider, device);
  MemoryPath path = own;
  for (const std::string& each :
       processes.gather_all(std::string(name(own)), "all processes to choose a memory path",
                            kDefaultDeadlineSeconds)) {
    path = std::max(path, parse_memory_path(each));  // MemoryPath lists the best first
  }
  return path;
}

}  // namespace duet
