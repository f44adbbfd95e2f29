// A LocalKernel as the GPU reads it: offsets into lists of addresses, all in device memory.
#pragma once

#include <cstdint>

namespace duet::gpu {

// The addresses from `first` on are those of the sources, after them the destinations', then of the
// semaphores that it waits for and of those that it sets.
struct LocalTableItem {
  std::uint64_t bytes = 0;
  std::uint32_t first = 0;
  std::uint32_t sources = 0;
  std::uint32_t destinations = 0;
  std::uint32_t waits = 0;
  std::uint32_t signals = 0;
  std::uint32_t width = 0;  // bytes by which all addresses are alike: 16, 4 or 1
  std::uint32_t share = 0;  // vectors of 16 bytes that are the first block's
  std::uint32_t behind =
      0;  // items up to the last one before it that waits for one of its semaphores
};

struct LocalKernelTable {
  const LocalTableItem* items = nullptr;
  unsigned char* const* addresses = nullptr;
  unsigned long long* finished =
      nullptr;                      // by item with semaphores: blocks that have done their part
  std::uint64_t* passed = nullptr;  // items up to the last one that all blocks have done
  int item_count = 0;
  int ordered_items = 0;  // items up to the last one with semaphores
  bool averages = false;
  bool semaphores_by_block = false;  // each semaphore is a word for each block
};

}  // namespace duet::gpu
