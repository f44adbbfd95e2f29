// What a block does in a call by packets, on a GPU (library.cu) and in tests
// (tests/fake_gpu/nvshmem): one text, so that tests which find a missing wait find it for both.
//
// 1. Receiver r, block 0: ready[r] of every PE = n, the number of the call.
// 2. Sender s, all blocks: wait until all of ready >= n; put packets to all PEs, dealt to the
//    blocks in turn; behind each, or behind all, a signal to arrived[s]; quiet, behind which the
//    send buffer may be overwritten.
// 3. The last block: waits for as many signals of each PE as n calls make, and counts the call.
//
// Words count calls, so a replayed graph goes on counting. Blocks wait for nothing that a later
// block does, so those of one kernel need not run at once; block 0 must begin.
#pragma once

#include "collectives/nvshmem/calls.h"

namespace duet::nvshmem {

inline DUET_NVSHMEM_BLOCK std::uint64_t packets_of(const PacketCall& call) {
  return call.largest == 0 ? 0 : (call.largest + call.packet - 1) / call.packet;
}

// Items are numbered packet by packet, and within a packet from the PE after this one to itself: at
// any time the PEs put to different ones. A smaller part has fewer packets.
template <typename Block>
DUET_NVSHMEM_BLOCK void put_item(const PacketCall& call, Block& block, std::uint64_t item) {
  const PutCall& all = call.all;
  const auto pes = static_cast<std::uint64_t>(all.pes);
  const int to = static_cast<int>((static_cast<std::uint64_t>(all.pe) + 1 + item % pes) % pes);
  const Part part = all.parts[to];
  const std::size_t begin = item / pes * call.packet;
  if (begin >= part.bytes) return;
  const std::size_t left = part.bytes - begin;
  const std::size_t bytes = left < call.packet ? left : call.packet;
  const std::byte* const from = all.send + part.from + begin;
  std::byte* const there = all.recv + part.to + begin;
  if (call.signals) {
    block.put_signal(there, from, bytes, call.arrived + all.pe, to);
  } else {
    block.put(there, from, bytes, to);
  }
}

// All threads of block `index` of call.blocks call it. A Block has
//   signal_all(word, value)        sets the word at every PE
//   wait_all(words, value)         until the words of all PEs, here, are at least the value
//   put, put_signal                begin to put; the signal adds 1 after the data
//   quiet()                        until all that the block has put is there
//   last(ended, blocks)            whether all other blocks have come here; sets `ended` back
//   set(word, value)               a word of this PE
template <typename Block>
DUET_NVSHMEM_BLOCK void exchange_packets(const PacketCall& call, Block& block, int index) {
  const std::uint64_t count = *call.calls + 1;
  if (index == 0) block.signal_all(call.ready + call.all.pe, count);
  block.wait_all(call.ready, count);
  const std::uint64_t packets = packets_of(call);
  const std::uint64_t items = packets * static_cast<std::uint64_t>(call.all.pes);
  for (auto item = static_cast<std::uint64_t>(index); item < items;
       item += static_cast<std::uint64_t>(call.blocks)) {
    put_item(call, block, item);
  }
  block.quiet();
  if (!block.last(call.ended, call.blocks)) return;
  if (!call.signals) block.signal_all(call.arrived + call.all.pe, count);
  block.wait_all(call.arrived, call.signals ? count * packets : count);
  block.set(call.calls, count);
}

}  // namespace duet::nvshmem
