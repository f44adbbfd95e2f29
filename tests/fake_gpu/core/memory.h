// The stand-in's memory: allocations of its devices and of the host, and mappings of other
// processes' allocations.
//
// Addresses are never used twice. So every access to freed memory is found, also by a call that
// comes long after: an address is either in a live range, or no memory of the runtime's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
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
  int owner = -1;  // of imported memory: the device that has it
};

// How another process finds an allocation: /proc/PID/fd/FILE at `offset`.
struct Handle {
  std::uint64_t magic = 0;
  std::int64_t process = 0;
  std::int64_t file = 0;
  std::uint64_t offset = 0, bytes = 0;
  int device = 0;
  bool coherent = false;
};

class Memory {
 public:
  explicit Memory(int devices);

  // nullptr: there is no more.
  void* allocate(Kind kind, int device, std::size_t bytes, bool coherent);
  // Frees a range that begins there and is of this kind; false if there is none.
  bool release(Kind kind, const void* begin);

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

  std::optional<Handle> share(const void* begin);
  void* import(int device, const Handle& handle);  // nullptr: it cannot be mapped

 private:
  struct Arena {  // a file in memory, mapped at one place
    int file = -1;
    std::byte* base = nullptr;
    std::size_t used = 0;  // bytes of the file that were ever allocated
    std::size_t live = 0;
  };
  Arena& arena_of(Kind kind, int device);
  std::vector<Range>::iterator at(const void* begin);
  const Range* range_of(const void* address) const;  // without the lock

  mutable std::mutex mutex_;
  std::vector<Arena> arenas_;  // by device; the last is the host's
  std::vector<Range> ranges_;
  std::set<std::tuple<std::uintptr_t, std::uintptr_t, int>> dirty_;  // begin, end, by which device
};

}  // namespace fake_gpu
