#include "fake_gpu/nvshmem/halo.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "halo/nvshmem/row_puts.h"
#include "halo/reference.h"

namespace duet::nvshmem {
namespace {

constexpr std::int64_t kPartColumns = 16;  // of a block: rows have several parts
constexpr std::chrono::milliseconds kLate{5};

std::int64_t parts_of(std::int64_t nx) { return (nx + kPartColumns - 1) / kPartColumns; }

// A put that has begun. The library may read its source at once, or as late as it leaves.
struct BegunPut {
  float* there = nullptr;
  const float* from = nullptr;  // nullptr: `values` have been read
  std::vector<float> values;
  std::uint64_t* word = nullptr;  // nullptr: no signal
};

// What PEs have put and what has not left yet.
struct BegunPuts {
  std::mutex mutex;
  std::map<int, std::vector<BegunPut>> of_pe;
};
BegunPuts begun;

void deliver(const BegunPut& put) {
  const bool overtaken = fake_fault() == FakeFault::signals_before_puts && put.word != nullptr;
  if (!overtaken) {
    std::memcpy(put.there, put.from != nullptr ? put.from : put.values.data(),
                put.values.size() * sizeof(float));
  }
  if (put.word != nullptr) fake_signal(put.word, 1, true);
}

void deliver_late(BegunPut put) {
  std::thread([put = std::move(put)] {
    std::this_thread::sleep_for(kLate);
    deliver(put);
  }).detach();
}

// The last first, and the first a while later: the library promises no order.
void deliver_all(int pe) {
  std::vector<BegunPut> puts;
  {
    const std::lock_guard<std::mutex> lock(begun.mutex);
    puts.swap(begun.of_pe[pe]);
  }
  for (; !puts.empty(); puts.pop_back()) {
    if (puts.size() == 1) std::this_thread::sleep_for(std::chrono::microseconds(100));
    BegunPut& next = puts.back();
    const bool is_first = next.from == nullptr && next.word != nullptr;  // of its row
    if (is_first && pe == 0 && fake_fault() == FakeFault::late_puts) {
      deliver_late(std::move(next));
    } else {
      deliver(next);
    }
  }
}

// A block as one thread. Its stores are in the row when it has met.
class FakeRowBlock {
 public:
  FakeRowBlock(int pe, float* row) : pe_(pe), row_(row) {}
  ~FakeRowBlock() { meet(); }
  FakeRowBlock(const FakeRowBlock&) = delete;
  FakeRowBlock& operator=(const FakeRowBlock&) = delete;
  bool failed() const { return failed_; }

  void store(std::int64_t column, float value) { stores_.emplace_back(column, value); }
  void put_value(float* there, float value, int pe) {
    add({at(there, pe), nullptr, {value}, nullptr});
  }
  void meet() {
    for (const auto& [column, value] : stores_) row_[column] = value;
    stores_.clear();
  }
  void put(float* there, const float* from, std::size_t bytes, int pe) {
    put_signal(there, from, bytes, nullptr, pe);
  }
  void put_signal(float* there, const float* from, std::size_t bytes, std::uint64_t* word, int pe) {
    const bool read_late = from - row_ != 0;  // all parts of a row but its first
    add({at(there, pe),
         read_late ? from : nullptr,
         {from, from + bytes / sizeof(float)},
         word == nullptr ? nullptr : at(word, pe)});
  }

 private:
  template <typename T>
  T* at(T* address, int pe) {
    auto* const there = reinterpret_cast<T*>(fake_address(address, pe_, pe));
    failed_ = failed_ || there == nullptr;
    return there;
  }
  void add(BegunPut put) {
    if (put.there == nullptr) return;
    const std::lock_guard<std::mutex> lock(begun.mutex);
    begun.of_pe[pe_].push_back(std::move(put));
  }

  int pe_;
  float* row_;
  bool failed_ = false;
  std::vector<std::pair<std::int64_t, float>> stores_;
};

// The points [column, column + columns) of a row, given to store(column, value). Returns the sum of
// their changes.
template <typename Store>
double sweep_points_of(const SweepCall& call, std::int64_t row, std::int64_t column,
                       std::int64_t columns, Store store) {
  const float* const own = call.from + row * call.nx;
  double sum = 0;
  for (std::int64_t x = column; x < column + columns; ++x) {
    const bool fixed = x == 0 || x == call.nx - 1;
    const float value =
        fixed ? own[x] : jacobi(own[x - 1], own[x + 1], own[x - call.nx], own[x + call.nx]);
    store(x, value);
    const auto change = static_cast<double>(value - own[x]);
    sum += change * change;
  }
  return sum;
}

double sweep_part(const SweepCall& call, const RowPart& part, bool& failed) {
  const std::int64_t row = row_of(call, part);
  FakeRowBlock block(call.pe, call.to + row * call.nx);
  const double sum =
      sweep_points_of(call, row, part.column, part.columns, [&](std::int64_t x, float value) {
        block.store(x, value);
        if (call.put == Put::words) put_point(call, block, part, x, value);
      });
  if (call.put == Put::blocks) put_part<Put::blocks>(call, block, part);
  if (call.put == Put::signals) put_part<Put::signals>(call, block, part);
  failed = failed || block.failed();
  return sum;
}

std::int64_t boundary_parts(const SweepCall& call) {
  return !call.boundary ? 0 : (call.rows == 1 ? 1 : 2) * parts_of(call.nx);
}

std::int64_t interior_rows(const SweepCall& call) {
  return call.interior && call.rows > 2 ? call.rows - 2 : 0;
}

std::int64_t partials(const SweepCall& call) { return boundary_parts(call) + interior_rows(call); }

// Of single points two: the last one is fixed, so its value is there already.
void lose_last_put(const SweepCall& call) {
  const std::lock_guard<std::mutex> lock(begun.mutex);
  std::vector<BegunPut>& puts = begun.of_pe[call.pe];
  puts.resize(puts.size() - (call.put == Put::words ? 2 : 1));
}

int sweep(const SweepCall& call, void*) {
  bool failed = false;
  std::vector<double> sums;
  for (std::int64_t i = 0; i < boundary_parts(call); ++i) {
    sums.push_back(sweep_part(call, row_part(call, i, parts_of(call.nx), kPartColumns), failed));
  }
  if (call.boundary && fake_fault() == FakeFault::loses_last_put) lose_last_put(call);
  for (std::int64_t row = 2; row < 2 + interior_rows(call); ++row) {
    float* const to = call.to + row * call.nx;
    sums.push_back(sweep_points_of(call, row, 0, call.nx,
                                   [&](std::int64_t x, float value) { to[x] = value; }));
  }
  if (call.partials != nullptr) std::copy(sums.begin(), sums.end(), call.partials);
  return failed ? fake_failure("an address that is not symmetric") : 0;
}

class FakeSyncThread {
 public:
  explicit FakeSyncThread(int pe) : pe_(pe) {}
  bool failed() const { return failed_; }

  void quiet() { deliver_all(pe_); }
  void set(std::uint64_t* word, std::uint64_t value, int pe) {
    fake_signal(reinterpret_cast<std::uint64_t*>(fake_address(word, pe_, pe)), value, false);
  }
  void wait(const std::uint64_t* word, std::uint64_t value) {
    failed_ = !fake_wait(word, value) || failed_;
  }

 private:
  int pe_;
  bool failed_ = false;
};

int sync(const SyncCall& call, void*) {
  FakeSyncThread thread(call.pe);
  if (call.put == Put::signals) deliver_all(call.pe);  // they leave at some time
  sync_neighbours(call, thread, static_cast<std::uint64_t>(parts_of(call.nx)));
  return thread.failed() ? fake_failure("a neighbour's signal did not come") : 0;
}

}  // namespace

const HaloCalls& fake_halo_calls(FakeFault fault) {
  static const HaloCalls calls{fake_calls(fault), partials, sweep, sync};
  reset_fake(fault);
  const std::lock_guard<std::mutex> lock(begun.mutex);
  begun.of_pe.clear();
  return calls;
}

}  // namespace duet::nvshmem
