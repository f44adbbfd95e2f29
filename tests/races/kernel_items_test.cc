// The waits and signals between the blocks of a kernel, with a CPU's thread for each block.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include "device/gpu/ordered_items.h"

namespace duet::DUET_GPU {
namespace {

constexpr unsigned kBlocks = 4, kItems = 6;
constexpr std::uint64_t kLaunches = 100;

// Items wait in turn for one of two words, which the next but one waits for again. Of one item all
// blocks poll the word, of the others the first block alone.
struct KernelOfItems {
  KernelOfItems() {
    for (unsigned i = 0; i < kItems; ++i) {
      gpu::LocalTableItem item;
      item.first = static_cast<std::uint32_t>(addresses.size());
      item.waits = item.signals = 1;
      item.behind = i >= 2 ? i - 1 : 0;
      item.first_block_polls = i == 3 ? 0 : 1;
      addresses.push_back(reinterpret_cast<unsigned char*>(&ready[i % 2]));
      addresses.push_back(reinterpret_cast<unsigned char*>(&done[i]));
      items.push_back(item);
    }
    table.items = items.data();
    table.addresses = addresses.data();
    table.finished = finished.data();
    table.passed = &passed;
    table.started = &started;
    table.item_count = table.ordered_items = kItems;
  }

  // What one block reads of each item's data.
  void run(unsigned block) {
    blockIdx.x = block;
    gridDim.x = kBlocks;
    for (unsigned i = 0; i < kItems; ++i) {
      const ItemSemaphores semaphores = semaphores_of(table, items[i]);
      wait_for_item(table, static_cast<int>(i), items[i], semaphores);
      read[block][i] = data[i];
      signal_item(table, static_cast<int>(i), semaphores);
    }
  }

  std::vector<gpu::LocalTableItem> items;
  std::vector<unsigned char*> addresses;
  std::array<unsigned long long, kItems> finished{};
  std::uint64_t ready[2]{}, done[kItems]{}, data[kItems]{}, passed = 0, started = 0;
  std::uint64_t read[kBlocks][kItems]{};
  gpu::LocalKernelTable table;
};

TEST(KernelItems, StartWhenTheirSemaphoresAreSet) {
  KernelOfItems kernel;
  for (std::uint64_t launch = 1; launch <= kLaunches; ++launch) {
    std::vector<std::thread> blocks;
    for (unsigned block = 0; block < kBlocks; ++block) {
      blocks.emplace_back([&kernel, block] { kernel.run(block); });
    }
    for (unsigned i = 0; i < kItems; ++i) {
      while (i >= 2 && load_acquire(&kernel.done[i - 2]) == 0) {
      }
      kernel.data[i] = launch * kItems + i;
      store_release(&kernel.ready[i % 2], 1);
    }
    for (std::thread& each : blocks) each.join();
    for (unsigned i = 0; i < kItems; ++i) {
      for (const auto& read : kernel.read) EXPECT_EQ(read[i], launch * kItems + i);
      EXPECT_EQ(kernel.done[i], 1u);
      kernel.done[i] = 0;
    }
    // As the next launch must find them.
    EXPECT_EQ(kernel.passed + kernel.started + kernel.ready[0] + kernel.ready[1], 0u);
  }
}

}  // namespace
}  // namespace duet::DUET_GPU
