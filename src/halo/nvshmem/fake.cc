#include "halo/nvshmem/fake.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "halo/reference.h"

namespace duet::nvshmem {
namespace {

constexpr std::chrono::seconds kLongest{3};
constexpr std::int64_t kPieceColumns = 16;  // of a block: rows have several pieces

struct Block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// The heaps of all PEs. Allocation k of every PE is symmetric to that of the others.
struct Heaps {
  ~Heaps() { free_all(); }
  // Also what is left allocated behind a failure, as by NVSHMEM.
  void free_all() {
    for (const auto& [pe, own] : blocks) {
      for (const Block& block : own) std::free(block.data);
    }
    blocks.clear();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, std::vector<Block>> blocks;  // by PE; freed ones stay, empty
  int pes = 0;
  const char* error = "";
  std::atomic<bool> gave_up{false};  // a wait has failed: later ones fail at once
};
Heaps heaps;
FakeFault fault = FakeFault::none;

int fail(const char* why) {
  const std::lock_guard<std::mutex> lock(heaps.mutex);
  heaps.error = why;
  return 1;
}

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
  return all ? data : nullptr;
}

void release(int pe, void* memory) {
  const std::lock_guard<std::mutex> lock(heaps.mutex);
  for (Block& block : heaps.blocks[pe]) {
    if (block.data == memory) block = {};
  }
  std::free(memory);
}

// An address of one PE at another one; nullptr: it is not symmetric, or the other PE has less
// there.
template <typename T>
T* at(T* address, int pe, int other) {
  const auto* const wanted = reinterpret_cast<const std::byte*>(address);
  const std::lock_guard<std::mutex> lock(heaps.mutex);
  const std::vector<Block>& own = heaps.blocks[pe];
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].data == nullptr || wanted < own[i].data || wanted >= own[i].data + own[i].bytes) {
      continue;
    }
    const std::ptrdiff_t offset = wanted - own[i].data;
    return reinterpret_cast<T*>(heaps.blocks[other].at(i).data + offset);
  }
  return nullptr;
}

std::int64_t pieces(std::int64_t nx) { return (nx + kPieceColumns - 1) / kPieceColumns; }

void signal(std::uint64_t* word, std::uint64_t value, bool adds) {
  if (fault == FakeFault::loses_signals) return;
  if (adds) {
    __atomic_fetch_add(word, value, __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
  }
}

// A row of this PE to a neighbour's halo, piece by piece.
int put_row(const SweepCall& call, const float* row, float* halo, std::uint64_t* word, int other) {
  float* const there = at(halo, call.pe, other);
  std::uint64_t* const signalled = at(word, call.pe, other);
  if (there == nullptr || signalled == nullptr) return fail("an address that is not symmetric");
  const bool signals = call.put == Put::signals;
  for (std::int64_t x = 0; x < call.nx; x += kPieceColumns) {
    const auto columns = static_cast<std::size_t>(std::min(kPieceColumns, call.nx - x));
    const bool early = fault == FakeFault::signals_before_puts;
    if (signals && early) signal(signalled, 1, true);
    if (early) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::memcpy(there + x, row + x, columns * sizeof(float));
    if (signals && !early) signal(signalled, 1, true);
  }
  return 0;
}

double sweep_row(const SweepCall& call, std::int64_t row) {
  const float* const own = call.from + row * call.nx;
  float* const to = call.to + row * call.nx;
  double sum = 0;
  for (std::int64_t x = 0; x < call.nx; ++x) {
    const bool fixed = x == 0 || x == call.nx - 1;
    to[x] = fixed ? own[x] : jacobi(own[x - 1], own[x + 1], own[x - call.nx], own[x + call.nx]);
    const auto change = static_cast<double>(to[x] - own[x]);
    sum += change * change;
  }
  return sum;
}

// The rows of a sweep, in the order of its partial sums.
std::vector<std::int64_t> rows_of_sweep(const SweepCall& call) {
  std::vector<std::int64_t> rows;
  if (call.boundary) {
    rows.push_back(1);
    if (call.rows > 1) rows.push_back(call.rows);
  }
  for (std::int64_t row = 2; call.interior && row < call.rows; ++row) rows.push_back(row);
  return rows;
}

std::int64_t partials(const SweepCall& call) {
  return static_cast<std::int64_t>(rows_of_sweep(call).size());
}

int sweep(const SweepCall& call, void*) {
  std::int64_t index = 0;
  for (const std::int64_t row : rows_of_sweep(call)) {
    const double sum = sweep_row(call, row);
    if (call.partials != nullptr) call.partials[index++] = sum;
  }
  if (!call.boundary) return 0;
  const float* const first = call.to + call.nx;
  const float* const last = call.to + call.rows * call.nx;
  const int up = put_row(call, first, call.halo_above, call.word_above, call.above);
  if (up != 0 || fault == FakeFault::loses_last_row) return up;
  return put_row(call, last, call.halo_below, call.word_below, call.below);
}

bool await(const std::uint64_t* word, std::uint64_t value) {
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

int sync(const SyncCall& call, void*) {
  const std::uint64_t count = ++*call.calls;
  const bool signals = call.put == Put::signals;
  if (!signals) {
    signal(at(call.word_above, call.pe, call.above), count, false);
    signal(at(call.word_below, call.pe, call.below), count, false);
  }
  const std::uint64_t each = signals ? static_cast<std::uint64_t>(pieces(call.nx)) : 1;
  if (await(call.from_above, count * each) && await(call.from_below, count * each)) return 0;
  return fail("a neighbour's signal did not come");
}

}  // namespace

const Calls& fake_calls(FakeFault wanted) {
  {
    const std::lock_guard<std::mutex> lock(heaps.mutex);
    heaps.free_all();
    heaps.gave_up = false;
    fault = wanted;
  }
  static const Calls calls = [] {
    Calls fake;
    fake.error = [] { return heaps.error; };
    fake.unique_id = [](void* id) { return std::memset(id, 7, kIdBytes), 0; };
    fake.init = init;
    fake.allocate = allocate;
    fake.release = release;
    fake.partials = partials;
    fake.sweep = sweep;
    fake.sync = sync;
    fake.several_pes_a_process = true;
    return fake;
  }();
  return calls;
}

}  // namespace duet::nvshmem
