// Memory that ranks have mapped of each other and need no more: freed when nobody has it mapped.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "device/buffer.h"

namespace duet {

class RetiredMemory {
 public:
  explicit RetiredMemory(std::size_t local_ranks) : ranks_(local_ranks) {}
  // Frees all. The other processes have ended by then, or may keep what they have mapped.
  ~RetiredMemory() = default;
  RetiredMemory(const RetiredMemory&) = delete;
  RetiredMemory& operator=(const RetiredMemory&) = delete;

  // A local rank needs its `own` no more, and has unmapped what the others have made under this
  // number, which is the same on all ranks. On any thread.
  void retire(int local, std::uint64_t number, Buffer own);
  // Kept to the end: streams of other ranks may still write there.
  void keep(Buffer own);

  // What a rank has retired and is not freed.
  std::vector<std::uint64_t> retired(int local) const;
  // Frees the rank's own of these numbers, which all ranks have retired.
  void free(int local, const std::vector<std::uint64_t>& numbers);

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::map<std::uint64_t, Buffer>> ranks_;
  std::vector<Buffer> kept_;
};

// Numbers as text between ranks, and those that are in all of the texts.
std::string numbers_text(const std::vector<std::uint64_t>& numbers);
std::vector<std::uint64_t> numbers_in_all(const std::vector<std::string>& texts);

}  // namespace duet
