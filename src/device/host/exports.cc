#include "device/host/exports.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "device/descriptors.h"

namespace duet::host {
namespace {

// Maps a file; nullptr on failure. Large files are mapped at a multiple of a huge page's size,
// because the kernel uses huge pages only there.
std::byte* map_file(int descriptor, std::size_t bytes) {
  const std::size_t spare = bytes >= kHugePage ? kHugePage : 0;
  void* room =
      mmap(nullptr, bytes + spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(room);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(begin) % kHugePage;
  const std::size_t skip = spare == 0 || past == 0 ? 0 : kHugePage - past;
  std::byte* data = begin + skip;
  if (mmap(data, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0) ==
      MAP_FAILED) {
    munmap(room, bytes + spare);
    return nullptr;
  }
  if (skip > 0) munmap(begin, skip);
  if (spare > skip) munmap(data + bytes, spare - skip);
  if (spare > 0) madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// Whether the file is an unnamed one of this user and of the size that the peer stated.
bool is_such_memory(int place, std::size_t bytes) {
  struct stat facts {};
  return fstat(place, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_nlink == 0 &&
         facts.st_uid == geteuid() && static_cast<std::size_t>(facts.st_size) == bytes;
}

// Whether the file is sealed against shrinking. A mapping of a file that shrinks would fault.
bool keeps_its_size(int descriptor) {
  const int seals = fcntl(descriptor, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

// Opens the file of an export; -1 on failure, with the reason in `problem`. The path comes from a
// peer and can name any file descriptor of any process of this user. The file is therefore examined
// before it is opened, because opening some other file could have effects.
int open_export(const std::string& path, std::size_t bytes, std::string& problem) {
  const int place = open(path.c_str(), O_PATH | O_CLOEXEC);
  problem = std::strerror(errno);
  if (place < 0) return -1;
  int descriptor = -1;
  if (is_such_memory(place, bytes)) {
    descriptor = open(fmt::format("/proc/self/fd/{}", place).c_str(), O_RDWR | O_CLOEXEC);
  }
  close(place);
  if (descriptor >= 0 && keeps_its_size(descriptor)) return descriptor;
  if (descriptor >= 0) close(descriptor);
  problem = "this is no memory that a process of Duet shares";
  return -1;
}

}  // namespace

void* Exports::allocate(std::size_t bytes) {
  const std::size_t rounded = whole_pages(bytes);
  const int descriptor = memfd_create("duet", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return nullptr;
  std::byte* data = nullptr;
  if (ftruncate(descriptor, static_cast<off_t>(rounded)) == 0 &&
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    data = map_file(descriptor, rounded);
  }
  if (data == nullptr) {
    close(descriptor);
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  allocations_[data] = {rounded, descriptor, ++made_};
  return data;
}

bool Exports::release(std::byte* data) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = allocations_.find(data);
  if (found == allocations_.end()) return false;
  munmap(data, found->second.bytes);
  close(found->second.descriptor);
  allocations_.erase(found);
  return true;
}

MemoryDescriptor Exports::export_memory(const Span& span, const std::string& device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto after = allocations_.upper_bound(span.data);
  if (after != allocations_.begin()) {
    const auto& [base, allocation] = *--after;
    const auto offset = static_cast<std::size_t>(span.data - base);
    if (offset < allocation.bytes && span.bytes <= allocation.bytes - offset) {
      const auto address = reinterpret_cast<std::uintptr_t>(base);
      return {"host",
              this_place(),
              getpid(),
              offset,
              span.bytes,
              {{address, allocation.bytes, allocation.id, std::to_string(allocation.descriptor)}}};
    }
  }
  throw Unavailable(fmt::format(
      "{}: {} memory that was not allocated for a run of several processes cannot be shared",
      device, name(span.kind)));
}

std::byte* map_exported(const MemoryDescriptor& descriptor) {
  if (descriptor.segments.size() != 1) throw Unavailable("memory of a host device is one segment");
  const MemoryDescriptor::Segment& segment = descriptor.segments.front();
  const int number = descriptor_number(segment.handle);
  const std::string path = fmt::format("/proc/{}/fd/{}", descriptor.process, number);
  std::string problem;
  const int file = open_export(path, segment.bytes, problem);
  std::byte* data = file < 0 ? nullptr : map_file(file, segment.bytes);
  if (file >= 0 && data == nullptr) problem = std::strerror(errno);
  if (file >= 0) close(file);
  if (data == nullptr) {
    throw Unavailable(fmt::format("memory of process {} cannot be mapped: {}: {}",
                                  descriptor.process, path, problem));
  }
  return data;
}

void unmap_exported(std::byte* data, const MemoryDescriptor& descriptor) {
  munmap(data, descriptor.segments.at(0).bytes);
}

}  // namespace duet::host
