#include "nccl_shim/host/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "core/error.h"

namespace duet::nccl_shim::host {
namespace {

struct Block {
  Allocation allocation;
  int file;
};

struct Table {
  std::mutex mutex;
  std::map<std::uintptr_t, Block> blocks;  // by base
  std::uint64_t last_id = 0;
};

Table& table() {
  static Table instance;
  return instance;
}

// By which an importer opens the owner's descriptor, and sees that it still is what was lent.
struct Descriptor {
  pid_t process;
  int file;
  ino_t inode;
};
static_assert(sizeof(Descriptor) <= sizeof(ExportedMemory));

[[noreturn]] void fail(const std::string& what) {
  throw Unavailable(what + ": " + std::strerror(errno));
}

}  // namespace

void* allocate(std::size_t bytes) {
  const int file = memfd_create("duet-host-device", MFD_CLOEXEC);
  if (file < 0) throw OutOfMemory(std::string("memfd_create: ") + std::strerror(errno));
  void* base = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (base == MAP_FAILED) {
    close(file);
    throw OutOfMemory(std::to_string(bytes) + " B: " + std::strerror(errno));
  }
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  all.blocks[address] = {{address, bytes, ++all.last_id}, file};
  return base;
}

void release(void* base) {
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.blocks.find(reinterpret_cast<std::uintptr_t>(base));
  if (found == all.blocks.end()) throw BadArgument("not an allocation of a host device");
  munmap(base, found->second.allocation.bytes);
  close(found->second.file);
  all.blocks.erase(found);
}

Allocation find_allocation(const void* pointer, std::size_t bytes) {
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  auto above = all.blocks.upper_bound(address);
  if (above != all.blocks.begin()) {
    const Allocation& found = (--above)->second.allocation;
    if (address + bytes <= found.base + found.bytes) return found;
  }
  throw Unavailable("not in an allocation of a host device");
}

bool exists(const Allocation& allocation) {
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.blocks.find(allocation.base);
  return found != all.blocks.end() && found->second.allocation.id == allocation.id;
}

ExportedMemory export_memory(const Allocation& allocation) {
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const int file = all.blocks.at(allocation.base).file;
  struct stat state {};
  if (fstat(file, &state) != 0) fail("fstat");
  const Descriptor descriptor{getpid(), file, state.st_ino};
  ExportedMemory memory{};
  std::memcpy(memory.bytes, &descriptor, sizeof descriptor);
  return memory;
}

void* import_memory(const ExportedMemory& memory, std::size_t bytes) {
  Descriptor descriptor{};
  std::memcpy(&descriptor, memory.bytes, sizeof descriptor);
  const std::string path =
      "/proc/" + std::to_string(descriptor.process) + "/fd/" + std::to_string(descriptor.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) fail(path);
  struct stat state {};
  const bool same = fstat(file, &state) == 0 && state.st_ino == descriptor.inode;
  void* base =
      same ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  close(file);
  if (base == MAP_FAILED)
    throw Unavailable(path + " is no longer what was lent, or cannot be mapped");
  return base;
}

}  // namespace duet::nccl_shim::host
