// What the blocks of boundary rows put, and how an exchange ends, on a GPU (kernels.cu) and in
// tests (tests/fake_gpu/nvshmem): one text, so that tests which find a missing put or wait find it
// for both.
#pragma once

#include "halo/nvshmem/calls.h"

namespace duet::nvshmem {

// A block's part of a boundary row: the first or the last, or where they are one row, both.
struct RowPart {
  bool first = false, last = false;
  std::int64_t column = 0, columns = 0;
};

// Part `index` of the boundary rows, which follow each other, `parts` a row of at most `columns`.
inline DUET_NVSHMEM_BLOCK RowPart row_part(const SweepCall& call, std::int64_t index,
                                           std::int64_t parts, std::int64_t columns) {
  RowPart part;
  part.first = index < parts;
  part.last = !part.first || call.rows == 1;
  part.column = index % parts * columns;
  const std::int64_t left = call.nx - part.column;
  part.columns = left < columns ? left : columns;
  return part;
}

inline DUET_NVSHMEM_BLOCK std::int64_t row_of(const SweepCall& call, const RowPart& part) {
  return part.first ? 1 : call.rows;
}

// By the thread that has computed the point. A Block has
//   put_value(there, value, pe)    begins to put 4 bytes
template <typename Block>
DUET_NVSHMEM_BLOCK void put_point(const SweepCall& call, Block& block, const RowPart& part,
                                  std::int64_t column, float value) {
  if (part.first) block.put_value(call.halo_above + column, value, call.above);
  if (part.last) block.put_value(call.halo_below + column, value, call.below);
}

template <Put put, typename Block>
DUET_NVSHMEM_BLOCK void put_to(Block& block, float* halo, const float* from, std::size_t bytes,
                               std::uint64_t* word, int pe) {
  if constexpr (put == Put::signals) {
    block.put_signal(halo, from, bytes, word, pe);
  } else {
    block.put(halo, from, bytes, pe);
  }
}

// By all threads of the block, behind the stores of its part. A Block has
//   meet()                         until all its threads have come here
//   put, put_signal                begin to put; the signal adds 1 after the data
template <Put put, typename Block>
DUET_NVSHMEM_BLOCK void put_part(const SweepCall& call, Block& block, const RowPart& part) {
  static_assert(put != Put::words);
  block.meet();
  const float* const from = call.to + row_of(call, part) * call.nx + part.column;
  const std::size_t bytes = static_cast<std::size_t>(part.columns) * sizeof(float);
  if (part.first) {
    put_to<put>(block, call.halo_above + part.column, from, bytes, call.word_above, call.above);
  }
  if (part.last) {
    put_to<put>(block, call.halo_below + part.column, from, bytes, call.word_below, call.below);
  }
}

// The end of an exchange, by one thread. `parts` of a row. A Thread has
//   quiet()                        until all that kernels before have put is there
//   set(word, value, pe)           a word of another PE
//   wait(word, value)              until the word, here, is at least the value
template <typename Thread>
DUET_NVSHMEM_BLOCK void sync_neighbours(const SyncCall& call, Thread& thread, std::uint64_t parts) {
  const std::uint64_t count = *call.calls + 1;
  const bool signals = call.put == Put::signals;
  if (!signals) {
    thread.quiet();
    thread.set(call.word_above, count, call.above);
    thread.set(call.word_below, count, call.below);
  }
  const std::uint64_t expected = signals ? count * parts : count;
  thread.wait(call.from_above, expected);
  thread.wait(call.from_below, expected);
  *call.calls = count;
}

}  // namespace duet::nvshmem
