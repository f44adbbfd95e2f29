#include "halo/nvshmem/fake.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "halo/reference.h"

namespace duet::nvshmem {
namespace {

constexpr std::int64_t kPieceColumns = 16;  // of a block: rows have several pieces
constexpr std::chrono::milliseconds kLate{5};

template <typename T>
T* at(T* address, int pe, int other) {
  return reinterpret_cast<T*>(fake_address(address, pe, other));
}

std::int64_t pieces(std::int64_t nx) { return (nx + kPieceColumns - 1) / kPieceColumns; }

// Puts that its `row` outlives.
void put_late(float* there, const float* row, std::size_t bytes, std::uint64_t* signalled) {
  std::thread([=] {
    std::this_thread::sleep_for(kLate);
    std::memcpy(there, row, bytes);
    fake_signal(signalled, 1, true);
  }).detach();
}

// A row of this PE to a neighbour's halo, piece by piece.
int put_row(const SweepCall& call, const float* row, float* halo, std::uint64_t* word, int other) {
  float* const there = at(halo, call.pe, other);
  std::uint64_t* const signalled = at(word, call.pe, other);
  if (there == nullptr || signalled == nullptr)
    return fake_failure("an address that is not symmetric");
  const bool signals = call.put == Put::signals;
  for (std::int64_t x = 0; x < call.nx; x += kPieceColumns) {
    const auto columns = static_cast<std::size_t>(std::min(kPieceColumns, call.nx - x));
    const bool early = fake_fault() == FakeFault::signals_before_puts;
    if (signals && x == 0 && call.pe == 0 && fake_fault() == FakeFault::late_puts) {
      put_late(there, row, columns * sizeof(float), signalled);
      continue;
    }
    if (signals && early) fake_signal(signalled, 1, true);
    if (early) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::memcpy(there + x, row + x, columns * sizeof(float));
    if (signals && !early) fake_signal(signalled, 1, true);
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
  if (up != 0 || fake_fault() == FakeFault::loses_last_put) return up;
  return put_row(call, last, call.halo_below, call.word_below, call.below);
}

int sync(const SyncCall& call, void*) {
  const std::uint64_t count = ++*call.calls;
  const bool signals = call.put == Put::signals;
  if (!signals) {
    fake_signal(at(call.word_above, call.pe, call.above), count, false);
    fake_signal(at(call.word_below, call.pe, call.below), count, false);
  }
  const std::uint64_t each = signals ? static_cast<std::uint64_t>(pieces(call.nx)) : 1;
  if (fake_wait(call.from_above, count * each) && fake_wait(call.from_below, count * each))
    return 0;
  return fake_failure("a neighbour's signal did not come");
}

}  // namespace

const HaloCalls& fake_halo_calls(FakeFault fault) {
  static const HaloCalls calls{fake_calls(fault), partials, sweep, sync};
  reset_fake(fault);
  return calls;
}

}  // namespace duet::nvshmem
