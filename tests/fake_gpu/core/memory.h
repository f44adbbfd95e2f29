// Memory of devices and of the host, and mappings of other processes' allocations, each of which is
// a file in memory.
//
// Addresses are not used twice, unless their memory is released for that. So every access to freed
// memory is found, also by a call that comes long after: an address is either in a live range, or
// no memory of the runtime's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace fake_gpu {

inline constexpr std::size_t kDeviceBytes = std::size_t{4} << 30;

enum class Kind { device, host, managed, imported };

struct Range {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  Kind kind = Kind::device;
  int device = -1;  // to which it belongs; that imported it
  // Whether kernels and streams that run see what others write: the host's memory, uncached memory.
  bool coherent = false;
  int owner = -1;        // of imported memory: the device that has it
  std::uint64_t id = 0;  // no other range of this process ever has it; never 0

  bool has(const void* address, std::size_t length) const {
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    return place >= begin && place + length <= begin + bytes;
  }
};

// How another process finds an allocation: /proc/PROCESS/fd/FILE, as long as that is this inode.
struct Handle {
  std::int32_t process = 0, file = 0;
  std::uint64_t inode = 0, bytes = 0;
  std::int32_t device = 0;
  bool coherent = false;
};

// Thread-safe.
class Memory {
 public:
  Memory();

  // nullptr: there is no more.
  void* allocate(Kind kind, int device, std::size_t bytes, bool coherent);
  // Frees a range that begins there and is of this kind; false if there is none. What other
  // processes have mapped stays there. `reused`: the next range of as many pages begins there.
  bool release(Kind kind, const void* begin, bool reused = false);

  // The live range in which the address lies.
  std::optional<Range> find(const void* address) const;
  // Whether the address lies where ranges are made, freed ones included.
  bool is_own_address(const void* address) const;

  std::size_t ranges() const;  // live ones

  // Work of a device has written these bytes, and its L2 cache may still hold what it wrote: until
  // the device releases to system scope. Coherent memory is never dirty.
  void write_by(int device, const void* address, std::size_t bytes);
  void release_to_system(int device);
  bool is_dirty(const void* address, std::size_t bytes) const;

  std::optional<Handle> share(const void* begin);  // of a device's range that begins there
  void* import(int device, const Handle& handle);  // nullptr: it cannot be mapped, or is freed

 private:
  struct Block {
    Range range;
    int file;  // -1: of another process
  };

  void* add(int file, Range range);
  const Range* range_of(const void* address) const;  // without the lock

  mutable std::mutex mutex_;
  std::byte* base_ = nullptr;                              // of all addresses
  std::size_t used_ = 0;                                   // bytes of them
  std::map<std::size_t, std::vector<std::byte*>> reused_;  // by bytes in whole pages
  std::uint64_t last_id_ = 0;
  std::map<int, std::size_t> live_;                                  // bytes, by device
  std::map<std::uintptr_t, Block> blocks_;                           // by begin
  std::set<std::tuple<std::uintptr_t, std::uintptr_t, int>> dirty_;  // begin, end, by which device
};

Memory& memory();  // of this process

}  // namespace fake_gpu
