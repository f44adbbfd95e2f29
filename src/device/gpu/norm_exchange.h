// The exchange of packets of sums that are normalised (PacketKernel::norm): blocks have whole rows.
#pragma once

#include <cstdint>

#include "device/gpu/norm_row.h"
#include "device/gpu/packet_exchange.h"

namespace duet::DUET_GPU {

template <typename Type, typename Group>
__device__ Units<Group> units_of_row(const gpu::NormRows& of, unsigned first, std::uint64_t row) {
  return {row * of.units + NormRow<Type>::unit(of, first), NormRow<Type>::step(of),
          (row + 1) * of.units};
}

// The thread's units [first, first + Group::kUnits) of the row: they are summed over ranks in rank
// order, and added to the residual.
template <typename Type, typename Group, typename GoesOn>
__device__ void add_units(NormRow<Type>& own, unsigned first, std::uint64_t row, const Turn& turn,
                          const gpu::PacketKernelTable& table, const GoesOn& goes_on) {
  const gpu::NormRows& of = table.norm;
  if (!NormRow<Type>::has(of, first)) return;
  const auto units = units_of_row<Type, Group>(of, first, row);
  Pair residual[Group::kUnits] = {};
#pragma unroll
  for (unsigned i = 0; i < Group::kUnits; ++i) {
    if (units.has(i)) residual[i] = unit_at(of.residual, units.at(i));
  }
  Reducing<Group, Type, Sum> sums[Group::kUnits];
  take_parts(table.exchange, units, turn, goes_on, sums);
#pragma unroll
  for (unsigned i = 0; i < Group::kUnits; ++i) {
    if (units.has(i)) own.add(first + i, units.at(i), residual[i], sums[i].all(table.exchange));
  }
}

// As exchange_groups(), but that a block has whole rows.
template <typename Type, typename Group, typename GoesOn>
__device__ __attribute__((always_inline)) inline void exchange_rows(
    const gpu::PacketKernelTable& table, const GoesOn& goes_on) {
  const gpu::PacketTable& exchange = table.exchange;
  const gpu::NormRows& of = table.norm;
  const RowsOfBlock rows(of);
  // Between two ranks the first units are loaded beside the number of the last call, so that the
  // latencies overlap.
  const auto first = units_of_row<Type, Group>(of, 0, rows.first);
  const bool is_early = Group::kPeers == 1 && rows.first < of.rows && NormRow<Type>::has(of, 0);
  Pair early[Group::kUnits] = {};
  if (is_early) load_units(exchange, exchange.peers[0].source, first, early);
  NormRow<Type> own(of);
  const Turn turn = turn_of<typename Group::Format>(exchange);
  if (is_early) {
    store_packets(exchange.peers[0].to + turn.offset, first, turn, early);
    clear_units(exchange, first, turn);
  }
  for (std::uint64_t row = rows.first; row < of.rows; row += rows.step) {
    for (unsigned i = 0; NormRow<Type>::has(of, i); i += Group::kUnits) {
      if (is_early && row == rows.first && i == 0) continue;
      push_units(exchange, units_of_row<Type, Group>(of, i, row), turn);
    }
  }
  end_turn(exchange, turn);
  sync_cluster(of.blocks);
  for (std::uint64_t row = rows.first; row < of.rows; row += rows.step) {
#pragma unroll
    for (unsigned i = 0; i < gpu::kNormUnits; i += Group::kUnits)
      add_units<Type, Group>(own, i, row, turn, table, goes_on);
    own.finish(row);
  }
}

// By all threads of a kernel of gpu::kNormThreads threads a block. If goes_on() ends it, results
// are unspecified.
template <typename Type, typename Format, typename GoesOn>
__device__ __attribute__((always_inline)) inline void exchange_and_normalise(
    const gpu::PacketKernelTable& table, const GoesOn& goes_on) {
  if (table.exchange.count == 1 && table.norm.blocks * gpu::kNormThreads >= table.norm.units) {
    exchange_rows<Type, OfOneUnit<Format>>(table, goes_on);
  } else if (table.exchange.count == 1) {
    exchange_rows<Type, OfTwoRanks<Format>>(table, goes_on);
  } else {
    exchange_rows<Type, OfMoreRanks<Format>>(table, goes_on);
  }
}

}  // namespace duet::DUET_GPU
