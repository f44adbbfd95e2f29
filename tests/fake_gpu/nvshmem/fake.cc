#include "fake_gpu/nvshmem/fake.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "collectives/nvshmem/packets.h"

namespace duet::nvshmem {
namespace {

constexpr std::chrono::seconds kLongest{3};
constexpr int kMostBlocks = 3;

struct Block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// The heaps of all PEs. Allocation k of every PE is symmetric to that of the others.
struct Heaps {
  ~Heaps() { free_all(); }
  // Also what is left allocated after a failure, as by NVSHMEM.
  void free_all() {
    for (const auto& [pe, own] : blocks) {
      for (const Block& block : own) std::free(block.data);
    }
    blocks.clear();
    came.clear();
    sent.clear();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, std::vector<Block>> blocks;  // by PE; freed ones stay, empty
  // Calls that a PE has come to, and those in which it has put all that it sends.
  std::map<int, std::uint64_t> came, sent;
  int pes = 0;
  const char* error = "";
  std::atomic<bool> gave_up{false};  // a wait has failed: later ones fail at once
};
Heaps heaps;
FakeFault fault = FakeFault::none;

int init(const void*, int, int pes) {
  const std::lock_guard<std::mutex> lock(heaps.mutex);
  heaps.pes = pes;
  return 0;
}

void* allocate(int pe, std::size_t bytes) {
  std::unique_lock<std::mutex> lock(heaps.mutex);
  auto* const data = static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  std::vector<Block>& own = heaps.blocks[pe];
  own.push_back({data, bytes});
  const std::size_t count = own.size();
  heaps.changed.notify_all();
  const bool all = heaps.changed.wait_for(lock, kLongest, [&] {
    for (int other = 0; other < heaps.pes; ++other) {
      if (heaps.blocks[other].size() < count) return false;
    }
    return true;
  });
  if (!all) return nullptr;
  for (const auto& [other, blocks] : heaps.blocks) {
    if (blocks[count - 1].bytes != bytes) return nullptr;  // of NVSHMEM undefined
  }
  return data;
}

void release(int pe, void* memory) {
  const std::lock_guard<std::mutex> lock(heaps.mutex);
  for (Block& block : heaps.blocks[pe]) {
    if (block.data == memory) block = {};
  }
  std::free(memory);
}

// Counts a call of this PE, unless the count is lost, and waits until all have counted as many.
int count_and_wait(std::map<int, std::uint64_t>& counts, int pe, bool lost) {
  std::unique_lock<std::mutex> lock(heaps.mutex);
  const std::uint64_t count = counts[pe] + 1;
  if (!lost) counts[pe] = count;
  heaps.changed.notify_all();
  const bool all = heaps.changed.wait_for(lock, heaps.gave_up ? kLongest / 100 : kLongest, [&] {
    for (int other = 0; other < heaps.pes; ++other) {
      if (counts[other] < count) return false;
    }
    return true;
  });
  if (all) return 0;
  heaps.gave_up = true;
  heaps.error = "a PE did not come";
  return 1;
}

int sync_all(int pe, void*) {
  return count_and_wait(heaps.came, pe, fault == FakeFault::loses_signals);
}

// The PEs that come after this one, then itself.
int all_to_all(const AllToAllCall& call, void*) {
  for (int step = 1; step <= call.pes; ++step) {
    const int other = (call.pe + step) % call.pes;
    std::byte* const there = fake_address(call.recv, call.pe, other);
    if (there == nullptr || fake_address(call.send, call.pe, other) == nullptr) {
      return fake_failure("an address that is not symmetric");
    }
    if (fault == FakeFault::loses_last_put && step == call.pes - 1) continue;
    std::memcpy(there + static_cast<std::size_t>(call.pe) * call.chunk,
                call.send + static_cast<std::size_t>(other) * call.chunk, call.chunk);
  }
  return count_and_wait(heaps.sent, call.pe, false);
}

int put_parts(const PutCall& call, void*) {
  for (int step = 1; step <= call.pes; ++step) {
    const int other = (call.pe + step) % call.pes;
    const Part& part = call.parts[other];
    if (part.bytes == 0) continue;
    std::byte* const there = fake_address(call.recv + part.to, call.pe, other);
    if (there == nullptr || fake_address(call.send + part.from, call.pe, call.pe) == nullptr)
      return fake_failure("an address that is not symmetric");
    if (fault == FakeFault::loses_last_put && step == call.pes - 1) continue;
    std::memcpy(there, call.send + part.from, part.bytes);
  }
  return count_and_wait(heaps.sent, call.pe, false);
}

// A block as one thread. What it puts leaves in quiet(), the last first: before that the library
// promises nothing, and no order.
class FakeBlock {
 public:
  FakeBlock(int pe, int pes) : pe_(pe), pes_(pes) {}
  bool failed() const { return failed_; }

  void signal_all(std::uint64_t* word, std::uint64_t value) {
    for (int pe = 0; pe < pes_; ++pe) {
      if (auto* const there = at(word, pe)) fake_signal(there, value, false);
    }
  }
  void wait_all(const std::uint64_t* words, std::uint64_t value) {
    for (int pe = 0; pe < pes_; ++pe) failed_ = !fake_wait(words + pe, value) || failed_;
  }
  void put(std::byte* there, const std::byte* from, std::size_t bytes, int pe) {
    put_signal(there, from, bytes, nullptr, pe);
  }
  void put_signal(std::byte* there, const std::byte* from, std::size_t bytes, std::uint64_t* word,
                  int pe) {
    puts_.push_back({at(there, pe), from, bytes, word == nullptr ? nullptr : at(word, pe)});
  }
  void quiet() {
    if (fault == FakeFault::loses_last_put && !puts_.empty()) puts_.pop_back();
    for (; !puts_.empty(); puts_.pop_back()) deliver(puts_.back());
  }
  bool last(std::uint64_t* ended, int blocks) {
    const auto before = __atomic_fetch_add(ended, 1, __ATOMIC_ACQ_REL);
    if (before + 1 != static_cast<std::uint64_t>(blocks)) return false;
    *ended = 0;
    return true;
  }
  void set(std::uint64_t* word, std::uint64_t value) { *word = value; }

 private:
  struct Put {
    std::byte* there;
    const std::byte* from;
    std::size_t bytes;
    std::uint64_t* word;  // nullptr: no signal
  };

  template <typename T>
  T* at(T* address, int pe) {
    auto* const there = reinterpret_cast<T*>(fake_address(address, pe_, pe));
    failed_ = failed_ || there == nullptr;
    return there;
  }
  void deliver(const Put& put) const {
    const bool overtaken = fault == FakeFault::signals_before_puts && put.word != nullptr;
    if (put.there != nullptr && !overtaken) std::memcpy(put.there, put.from, put.bytes);
    if (put.word != nullptr) fake_signal(put.word, 1, true);
  }

  int pe_, pes_;
  bool failed_ = false;
  std::vector<Put> puts_;
};

// Each block has a thread. The first begins last.
int put_packets(const PacketCall& call, void*) {
  std::vector<FakeBlock> blocks(static_cast<std::size_t>(call.blocks),
                                FakeBlock(call.all.pe, call.all.pes));
  std::vector<std::thread> threads;
  for (int i = call.blocks - 1; i >= 0; --i) {
    threads.emplace_back(
        [&, i] { exchange_packets(call, blocks[static_cast<std::size_t>(i)], i); });
  }
  for (std::thread& each : threads) each.join();
  for (const FakeBlock& each : blocks) {
    if (each.failed()) return fake_failure("a PE's signal did not come");
  }
  return 0;
}

Calls base_calls() {
  Calls fake;
  fake.error = [] { return heaps.error; };
  fake.unique_id = [](void* id) { return std::memset(id, 7, kIdBytes), 0; };
  fake.init = init;
  fake.allocate = allocate;
  fake.release = release;
  fake.sync_all = sync_all;
  fake.all_to_all = all_to_all;
  fake.put_parts = put_parts;
  fake.put_packets = put_packets;
  fake.most_blocks = kMostBlocks;
  fake.several_pes_a_process = true;
  return fake;
}

}  // namespace

void reset_fake(FakeFault wanted) {
  const std::lock_guard<std::mutex> lock(heaps.mutex);
  heaps.free_all();
  heaps.gave_up = false;
  fault = wanted;
}

FakeFault fake_fault() { return fault; }

const Calls& fake_calls(FakeFault wanted) {
  reset_fake(wanted);
  static const Calls calls = base_calls();
  return calls;
}

int fake_failure(const char* why) {
  const std::lock_guard<std::mutex> lock(heaps.mutex);
  heaps.error = why;
  return 1;
}

std::byte* fake_address(const void* address, int pe, int other) {
  const auto* const wanted = static_cast<const std::byte*>(address);
  const std::lock_guard<std::mutex> lock(heaps.mutex);
  const std::vector<Block>& own = heaps.blocks[pe];
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].data == nullptr || wanted < own[i].data || wanted >= own[i].data + own[i].bytes) {
      continue;
    }
    return heaps.blocks[other].at(i).data + (wanted - own[i].data);
  }
  return nullptr;
}

void fake_signal(std::uint64_t* word, std::uint64_t value, bool adds) {
  if (fault == FakeFault::loses_signals) return;
  if (adds) {
    __atomic_fetch_add(word, value, __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
  }
}

bool fake_wait(const std::uint64_t* word, std::uint64_t value) {
  const auto begin = std::chrono::steady_clock::now();
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) {
    if (heaps.gave_up || std::chrono::steady_clock::now() - begin > kLongest) {
      heaps.gave_up = true;
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

}  // namespace duet::nvshmem
