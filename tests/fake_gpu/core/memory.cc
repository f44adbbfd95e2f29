#include "fake_gpu/core/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

#if defined(__SANITIZE_THREAD__)  // it leaves a program few addresses
constexpr std::size_t kAddresses = std::size_t{1} << 36;
#else
constexpr std::size_t kAddresses = std::size_t{1} << 40;
#endif
constexpr std::size_t kPage = 4096;
constexpr int kHost = -1;  // where devices are counted
constexpr int kUnreachable = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

std::optional<std::uint64_t> inode_of(int file) {
  struct stat state {};
  return fstat(file, &state) == 0 ? std::optional<std::uint64_t>(state.st_ino) : std::nullopt;
}

}  // namespace

Memory::Memory() {
  void* const base = mmap(nullptr, kAddresses, PROT_NONE, kUnreachable, -1, 0);
  if (base == MAP_FAILED) {
    std::perror("fake GPU: addresses");
    std::abort();
  }
  base_ = static_cast<std::byte*>(base);
}

// Maps the file, with a page behind it that nobody reaches.
void* Memory::add(int file, Range range) {
  const std::size_t pages = whole_pages(range.bytes);
  std::vector<std::byte*>& freed = reused_[pages];
  if (freed.empty() && used_ + pages + kPage > kAddresses) return nullptr;
  std::byte* const begin = freed.empty() ? base_ + used_ : freed.back();
  const int protection = PROT_READ | PROT_WRITE;
  if (mmap(begin, pages, protection, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) return nullptr;
  if (freed.empty()) {
    used_ += pages + kPage;
  } else {
    freed.pop_back();
  }
  ASAN_POISON_MEMORY_REGION(begin + range.bytes, pages - range.bytes);
  range.begin = reinterpret_cast<std::uintptr_t>(begin);
  range.id = ++last_id_;
  blocks_[range.begin] = {range, range.kind == Kind::imported ? -1 : file};
  return begin;
}

void* Memory::allocate(Kind kind, int device, std::size_t bytes, bool coherent) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::size_t& live = live_[kind == Kind::host ? kHost : device];
  if (bytes > kDeviceBytes - live) return nullptr;
  const int file = memfd_create("fake GPU", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  void* const begin = ftruncate(file, static_cast<off_t>(whole_pages(bytes))) == 0
                          ? add(file, {0, bytes, kind, device, coherent, -1, 0})
                          : nullptr;
  if (begin == nullptr) {
    close(file);
  } else {
    live += bytes;
  }
  return begin;
}

bool Memory::release(Kind kind, const void* begin, bool reused) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(begin));
  if (found == blocks_.end() || found->second.range.kind != kind) return false;
  const auto [range, file] = found->second;
  blocks_.erase(found);
  for (auto each = dirty_.lower_bound({range.begin, 0, 0});
       each != dirty_.end() && std::get<0>(*each) < range.begin + range.bytes;) {
    each = dirty_.erase(each);
  }
  auto* const data = reinterpret_cast<std::byte*>(range.begin);
  const std::size_t pages = whole_pages(range.bytes);
  ASAN_UNPOISON_MEMORY_REGION(data, pages);
  mmap(data, pages, PROT_NONE, kUnreachable | MAP_FIXED, -1, 0);
  if (reused) reused_[pages].push_back(data);
  if (kind == Kind::imported) return true;
  live_[kind == Kind::host ? kHost : range.device] -= range.bytes;
  close(file);
  return true;
}

const Range* Memory::range_of(const void* address) const {
  auto above = blocks_.upper_bound(reinterpret_cast<std::uintptr_t>(address));
  if (above == blocks_.begin()) return nullptr;
  const Range& range = std::prev(above)->second.range;
  return range.has(address, 1) ? &range : nullptr;
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
  return place >= base_ && place < base_ + kAddresses;
}

std::size_t Memory::ranges() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return blocks_.size();
}

std::optional<Handle> Memory::share(const void* begin) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(begin));
  if (found == blocks_.end() || found->second.range.kind != Kind::device) return std::nullopt;
  const auto& [range, file] = found->second;
  const std::optional<std::uint64_t> inode = inode_of(file);
  if (!inode) return std::nullopt;
  return Handle{getpid(), file, *inode, range.bytes, range.device, range.coherent};
}

void* Memory::import(int device, const Handle& handle) {
  const std::string path =
      "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  void* const begin =
      inode_of(file) == handle.inode
          ? add(file, {0, handle.bytes, Kind::imported, device, handle.coherent, handle.device, 0})
          : nullptr;
  close(file);
  return begin;
}

Memory& memory() {
  static auto* const all = new Memory;
  return *all;
}

}  // namespace fake_gpu
