#include "fake_gpu/core/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) static_cast<void>(bytes)
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) static_cast<void>(bytes)
#endif

namespace fake_gpu {
namespace {

constexpr std::size_t kArenaBytes = std::size_t{1} << 40;  // of addresses
constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kMagic = 0x6e6174732d706968;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::abort();
}

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// The last page of a range is a guard page.
std::size_t reserved(std::size_t bytes) { return whole_pages(bytes) + kPage; }

}  // namespace

Memory::Memory(int devices) : arenas_(static_cast<std::size_t>(devices) + 1) {
  for (Arena& arena : arenas_) {
    arena.file = memfd_create("hip stand-in", MFD_CLOEXEC);
    if (arena.file < 0 || ftruncate(arena.file, static_cast<off_t>(kArenaBytes)) != 0) {
      give_up("stand-in: a file in memory");
    }
    void* const base =
        mmap(nullptr, kArenaBytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, arena.file, 0);
    if (base == MAP_FAILED) give_up("stand-in: addresses");
    arena.base = static_cast<std::byte*>(base);
  }
}

Memory::Arena& Memory::arena_of(Kind kind, int device) {
  return kind == Kind::host ? arenas_.back() : arenas_[static_cast<std::size_t>(device)];
}

void* Memory::allocate(Kind kind, int device, std::size_t bytes, bool coherent) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Arena& arena = arena_of(kind, device);
  if (bytes > kDeviceBytes - arena.live || arena.used + reserved(bytes) > kArenaBytes) {
    return nullptr;
  }
  std::byte* const begin = arena.base + arena.used;
  if (mprotect(begin, whole_pages(bytes), PROT_READ | PROT_WRITE) != 0) return nullptr;
  ASAN_POISON_MEMORY_REGION(begin + bytes, whole_pages(bytes) - bytes);
  arena.used += reserved(bytes);
  arena.live += bytes;
  ranges_.push_back({reinterpret_cast<std::uintptr_t>(begin), bytes, kind, device, coherent, -1});
  return begin;
}

std::vector<Range>::iterator Memory::at(const void* begin) {
  return std::find_if(ranges_.begin(), ranges_.end(), [begin](const Range& range) {
    return range.begin == reinterpret_cast<std::uintptr_t>(begin);
  });
}

bool Memory::release(Kind kind, const void* begin) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = at(begin);
  if (found == ranges_.end() || found->kind != kind) return false;
  const Range range = *found;
  ranges_.erase(found);
  for (auto each = dirty_.lower_bound({range.begin, 0, 0});
       each != dirty_.end() && std::get<0>(*each) < range.begin + range.bytes;) {
    each = dirty_.erase(each);
  }
  auto* const data = reinterpret_cast<std::byte*>(range.begin);
  const std::size_t pages = whole_pages(range.bytes);
  ASAN_UNPOISON_MEMORY_REGION(data, pages);
  if (kind == Kind::imported) {
    munmap(data, pages);
    return true;
  }
  Arena& arena = arena_of(range.kind, range.device);
  arena.live -= range.bytes;
  mprotect(data, pages, PROT_NONE);
  fallocate(arena.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, data - arena.base,
            static_cast<off_t>(pages));
  return true;
}

const Range* Memory::range_of(const void* address) const {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  for (const Range& range : ranges_) {
    if (place >= range.begin && place - range.begin < range.bytes) return &range;
  }
  return nullptr;
}

std::optional<Range> Memory::find(const void* address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Range* const range = range_of(address);
  return range == nullptr ? std::nullopt : std::optional<Range>(*range);
}

void Memory::write_by(int device, const void* address, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Range* const range = range_of(address);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (range != nullptr && !range->coherent) dirty_.insert({begin, begin + bytes, device});
}

void Memory::release_to_system(int device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto each = dirty_.begin(); each != dirty_.end();) {
    each = std::get<2>(*each) == device ? dirty_.erase(each) : std::next(each);
  }
}

bool Memory::is_dirty(const void* address, std::size_t bytes) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  return std::any_of(dirty_.begin(), dirty_.end(), [begin, bytes](const auto& each) {
    return std::get<0>(each) < begin + bytes && begin < std::get<1>(each);
  });
}

bool Memory::is_own_address(const void* address) const {
  const auto* const place = static_cast<const std::byte*>(address);
  return std::any_of(arenas_.begin(), arenas_.end(), [place](const Arena& arena) {
    return place >= arena.base && place < arena.base + kArenaBytes;
  });
}

std::size_t Memory::ranges() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ranges_.size();
}

std::optional<Handle> Memory::share(const void* begin) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = at(begin);
  if (found == ranges_.end() || found->kind != Kind::device) return std::nullopt;
  const Arena& arena = arena_of(found->kind, found->device);
  return Handle{
      kMagic,         getpid(),
      arena.file,     static_cast<std::uint64_t>(static_cast<const std::byte*>(begin) - arena.base),
      found->bytes,   found->device,
      found->coherent};
}

void* Memory::import(int device, const Handle& handle) {
  if (handle.magic != kMagic || handle.process == getpid()) return nullptr;
  const std::string path =
      "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const data = mmap(nullptr, whole_pages(handle.bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
                          file, static_cast<off_t>(handle.offset));
  close(file);
  if (data == MAP_FAILED) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  ranges_.push_back({reinterpret_cast<std::uintptr_t>(data), handle.bytes, Kind::imported, device,
                     handle.coherent, handle.device});
  return data;
}

}  // namespace fake_gpu
