// A LocalKernel in the form that the GPU reads: items with offsets into lists of addresses, all in
// device memory.
#pragma once

#include <cstdint>

namespace duet::gpu {

// An item's addresses begin at `first` in the list. Their order is: sources, destinations,
// semaphores that the item waits for, semaphores that it signals.
struct LocalTableItem {
  std::uint64_t bytes = 0;
  std::uint32_t first = 0;
  std::uint32_t sources = 0;
  std::uint32_t destinations = 0;
  std::uint32_t waits = 0;
  std::uint32_t signals = 0;
  std::uint32_t width = 0;  // common_width() of all addresses: 16, 4 or 1 bytes
  std::uint32_t share = 0;  // first_share(): vectors of 16 bytes in the first block's slice
  // The number of leading items that must be done before this one may wait: those up to the last
  // earlier item that waits for one of the same semaphores. 0: none.
  std::uint32_t behind = 0;
  std::uint32_t divisor = 1;  // of averages
  // 1: it waits for semaphores in the CPU's memory, which the first block alone polls.
  std::uint32_t first_block_polls = 0;
};

struct LocalKernelTable {
  const LocalTableItem* items = nullptr;
  unsigned char* const* addresses = nullptr;
  unsigned long long* finished = nullptr;  // per item with semaphores: blocks that have finished it
  std::uint64_t* passed = nullptr;         // number of leading items that all blocks have finished
  // Number of leading items that may start, as the first block tells the others where it polls
  // alone.
  std::uint64_t* started = nullptr;
  int item_count = 0;
  int ordered_items = 0;  // number of leading items up to the last one with semaphores
  bool averages = false;
  bool semaphores_by_block = false;  // each semaphore is a word for each block
};

}  // namespace duet::gpu
