#include "fake_gpu/core/host_vmm.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "core/error.h"

namespace host_vmm {
namespace {

struct Memory {
  int device, file;
  std::size_t bytes;
  bool exportable;
  int references, mappings;
};

struct Mapped {
  std::size_t bytes;
  Handle handle;
  std::set<int> devices;  // with access
};

struct Tables {
  std::mutex mutex;
  std::map<Handle, Memory> memory;
  std::map<char*, std::size_t> ranges;
  std::map<char*, Mapped> mapped;
};

Tables& tables() {
  static auto& all = *new Tables;
  return all;
}

void require(bool met, const char* what) {
  if (!met) throw duet::Error(what);
}

void require_granules(const void* at, std::size_t bytes) {
  require(bytes > 0 && bytes % kGranule == 0, "a size that is no multiple of the granularity");
  require(reinterpret_cast<std::uintptr_t>(at) % kGranule == 0, "a misaligned address");
}

Memory& memory_of(Tables& all, Handle handle) {
  const auto found = all.memory.find(handle);
  require(found != all.memory.end() && found->second.references > 0, "no handle");
  return found->second;
}

void end_if_unused(Tables& all, Handle handle) {
  const auto found = all.memory.find(handle);
  if (found->second.references > 0 || found->second.mappings > 0) return;
  close(found->second.file);
  all.memory.erase(found);
}

Handle add(Tables& all, const Memory& memory) {
  Handle unused = 1;
  while (all.memory.count(unused) != 0) ++unused;
  all.memory[unused] = memory;
  return unused;
}

std::map<char*, Mapped>::iterator at_address(Tables& all, const void* address) {
  char* const at = static_cast<char*>(const_cast<void*>(address));
  auto above = all.mapped.upper_bound(at);
  if (above == all.mapped.begin()) return all.mapped.end();
  --above;
  return at < above->first + above->second.bytes ? above : all.mapped.end();
}

std::map<char*, Mapped>::iterator exactly(Tables& all, char* at, std::size_t bytes) {
  const auto found = all.mapped.find(at);
  require(found != all.mapped.end() && found->second.bytes == bytes, "no mapping of that size");
  return found;
}

void make_unreachable(char* at, std::size_t bytes) {
  mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

}  // namespace

Handle create(int device, std::size_t bytes, bool exportable) {
  require_granules(nullptr, bytes);
  const int file = memfd_create("host-vmm", MFD_CLOEXEC);
  require(file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0, "no memory");
  const std::lock_guard<std::mutex> lock(tables().mutex);
  return add(tables(), {device, file, bytes, exportable, 1, 0});
}

Handle retain(const void* address) {
  const std::lock_guard<std::mutex> lock(tables().mutex);
  const auto found = at_address(tables(), address);
  require(found != tables().mapped.end(), "nothing is mapped there");
  ++tables().memory.at(found->second.handle).references;
  return found->second.handle;
}

void release(Handle handle) {
  const std::lock_guard<std::mutex> lock(tables().mutex);
  --memory_of(tables(), handle).references;
  end_if_unused(tables(), handle);
}

int export_descriptor(Handle handle) {
  const std::lock_guard<std::mutex> lock(tables().mutex);
  const Memory& memory = memory_of(tables(), handle);
  require(memory.exportable, "not made to be exported");
  const int copy = dup(memory.file);
  require(copy >= 0, "no descriptor");
  return copy;
}

Handle import_descriptor(int device, int descriptor) {
  struct stat state {};
  const int copy = dup(descriptor);
  require(copy >= 0 && fstat(copy, &state) == 0, "no descriptor");
  const std::lock_guard<std::mutex> lock(tables().mutex);
  return add(tables(), {device, copy, static_cast<std::size_t>(state.st_size), true, 1, 0});
}

int device_of(Handle handle) {
  const std::lock_guard<std::mutex> lock(tables().mutex);
  return memory_of(tables(), handle).device;
}

bool is_exportable(Handle handle) {
  const std::lock_guard<std::mutex> lock(tables().mutex);
  return memory_of(tables(), handle).exportable;
}

char* reserve(std::size_t bytes, std::uintptr_t wanted) {
  require_granules(reinterpret_cast<void*>(wanted), bytes);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const whole = mmap(reinterpret_cast<void*>(wanted), bytes + kGranule, PROT_NONE,
                           kFlags | (wanted == 0 ? 0 : MAP_FIXED_NOREPLACE), -1, 0);
  require(whole != MAP_FAILED, "no addresses");
  const auto begin = reinterpret_cast<std::uintptr_t>(whole);
  const std::uintptr_t base = (begin + kGranule - 1) / kGranule * kGranule;
  if (base > begin) munmap(whole, base - begin);
  if (base < begin + kGranule) {
    munmap(reinterpret_cast<void*>(base + bytes), begin + kGranule - base);
  }
  const std::lock_guard<std::mutex> lock(tables().mutex);
  tables().ranges[reinterpret_cast<char*>(base)] = bytes;
  return reinterpret_cast<char*>(base);
}

std::uintptr_t unused_multiple(std::size_t bytes) {
  void* const whole =
      mmap(nullptr, 3 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(whole != MAP_FAILED, "no addresses");
  munmap(whole, 3 * bytes);
  return (reinterpret_cast<std::uintptr_t>(whole) / bytes + 2) * bytes;
}

void unreserve(char* base, std::size_t bytes) {
  Tables& all = tables();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.ranges.find(base);
  require(found != all.ranges.end() && found->second == bytes, "no range of that size");
  const auto mapped = all.mapped.lower_bound(base);
  require(mapped == all.mapped.end() || mapped->first >= base + bytes, "something is mapped there");
  munmap(base, bytes);
  all.ranges.erase(found);
}

void map(char* at, std::size_t bytes, Handle handle) {
  require_granules(at, bytes);
  Tables& all = tables();
  const std::lock_guard<std::mutex> lock(all.mutex);
  Memory& memory = memory_of(all, handle);
  require(bytes <= memory.bytes, "more than the segment");
  const auto range = all.ranges.upper_bound(at);
  require(range != all.ranges.begin() &&
              at + bytes <= std::prev(range)->first + std::prev(range)->second,
          "addresses that are not reserved");
  const auto next = all.mapped.lower_bound(at);
  require(at_address(all, at) == all.mapped.end() &&
              (next == all.mapped.end() || at + bytes <= next->first),
          "something is mapped there");
  mmap(at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory.file, 0);
  ++memory.mappings;
  all.mapped[at] = {bytes, handle, {}};
}

void unmap(char* at, std::size_t bytes) {
  Tables& all = tables();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = exactly(all, at, bytes);
  const Handle handle = found->second.handle;
  make_unreachable(at, bytes);
  all.mapped.erase(found);
  --all.memory.at(handle).mappings;
  end_if_unused(all, handle);
}

void set_access(char* at, std::size_t bytes, int device) {
  const std::lock_guard<std::mutex> lock(tables().mutex);
  exactly(tables(), at, bytes)->second.devices.insert(device);
  mprotect(at, bytes, PROT_READ | PROT_WRITE);
}

bool has_access(const void* address, int device) {
  const std::lock_guard<std::mutex> lock(tables().mutex);
  const auto found = at_address(tables(), address);
  require(found != tables().mapped.end(), "nothing is mapped there");
  return found->second.devices.count(device) != 0;
}

Mapping find(const void* address) {
  const std::lock_guard<std::mutex> lock(tables().mutex);
  const auto found = at_address(tables(), address);
  if (found == tables().mapped.end()) return {};
  const Handle handle = found->second.handle;
  return {found->first, found->second.bytes, handle, tables().memory.at(handle).device};
}

bool reaches(const void* address, std::size_t bytes, int device) {
  const char* at = static_cast<const char*>(address);
  for (const char* const end = at + bytes; at < end;) {
    const Mapping found = find(at);
    if (found.base == nullptr) return true;
    if (!has_access(at, device)) return false;
    at = found.base + found.bytes;
  }
  return true;
}

std::size_t segments() {
  const std::lock_guard<std::mutex> lock(tables().mutex);
  return tables().memory.size();
}

}  // namespace host_vmm
