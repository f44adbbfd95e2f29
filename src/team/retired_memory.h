#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "device/buffer.h"

namespace duet {

// Memory that its rank no longer needs and that other ranks may still have imported. Freed when no
// rank has.
class RetiredMemory {
 public:
  explicit RetiredMemory(std::size_t local_ranks) : ranks_(local_ranks) {}
  // Frees all. The other processes have ended by then, or keep their mappings.
  ~RetiredMemory() = default;
  RetiredMemory(const RetiredMemory&) = delete;
  RetiredMemory& operator=(const RetiredMemory&) = delete;

  // A local rank no longer needs `own`, and has unmapped the other ranks' memory of this number,
  // which is the same on all ranks. Any thread.
  void retire(int local, std::uint64_t number, Buffer own);
  // Keeps it until the end, since streams of other ranks may still write to it.
  void keep(Buffer own);

  // The numbers that a rank has retired and that are not freed.
  std::vector<std::uint64_t> retired(int local) const;
  // Frees the rank's own of these numbers, which all ranks have retired.
  void free(int local, const std::vector<std::uint64_t>& numbers);

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::map<std::uint64_t, Buffer>> ranks_;
  std::vector<Buffer> kept_;
};

// Numbers as text; and the numbers that are in all of the texts.
std::string numbers_text(const std::vector<std::uint64_t>& numbers);
std::vector<std::uint64_t> numbers_in_all(const std::vector<std::string>& texts);

}  // namespace duet
