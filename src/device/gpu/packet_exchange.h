// The exchange of packets by a kernel: every rank pushes packets to its peers and polls for theirs.
// There is no barrier. For the kernels of libduet and of the NCCL drop-in.
#pragma once

#include <cstdint>

#include "core/packets.h"
#include "device/gpu/item_piece.h"
#include "device/gpu/packet.h"
#include "device/gpu/packet_table.h"
#include "device/gpu/reduction_words.h"
#include "device/gpu/system_words.h"
#include "device/gpu/word_pairs.h"

namespace duet::DUET_GPU {

// Polls that find no packet between two checks whether to go on.
constexpr unsigned kPollsPerCheck = 512;

// A unit is the 8 bytes of a part that go as one packet, at the end of a part maybe fewer. Units
// that are not whole or not at a multiple of 8 are rare, and their code is not inlined: a kernel of
// a few microseconds loses time by each miss of the instruction cache. With all code inlined an
// exchange between two H200 took 0.3 to 0.5 us longer.
#define DUET_NOT_INLINED __device__ __attribute__((noinline)) inline
DUET_NOT_INLINED Pair load_bytes(const unsigned char* at, unsigned bytes) {
  std::uint64_t both = 0;
#pragma unroll 1
  for (unsigned i = 0; i < bytes; ++i) both |= std::uint64_t{at[i]} << (i * 8);
  return {static_cast<std::uint32_t>(both), static_cast<std::uint32_t>(both >> 32)};
}
DUET_NOT_INLINED void store_bytes(unsigned char* at, unsigned bytes, const Pair& data) {
  const std::uint64_t both = std::uint64_t{data.y} << 32 | data.x;
#pragma unroll 1
  for (unsigned i = 0; i < bytes; ++i) at[i] = static_cast<unsigned char>(both >> (i * 8));
}
__device__ inline std::uint64_t units_of(const gpu::PacketTable& of) {
  return (of.bytes + kPacketDataBytes - 1) / kPacketDataBytes;
}
__device__ inline unsigned bytes_of_unit(const gpu::PacketTable& of, std::uint64_t unit) {
  const std::uint64_t left = of.bytes - unit * kPacketDataBytes;
  return left < kPacketDataBytes ? static_cast<unsigned>(left) : kPacketDataBytes;
}

// `kWhole`: a whole unit at a multiple of 8.
template <bool kWhole>
__device__ Pair load_unit(const gpu::PacketTable& of, const unsigned char* part,
                          std::uint64_t unit) {
  const unsigned char* const at = part + unit * kPacketDataBytes;
  if (kWhole) return *reinterpret_cast<const Pair*>(at);
  return load_bytes(at, bytes_of_unit(of, unit));
}

template <bool kWhole>
__device__ void store_unit(const gpu::PacketTable& of, unsigned char* part, std::uint64_t unit,
                           const Pair& data) {
  unsigned char* const at = part + unit * kPacketDataBytes;
  if (kWhole) {
    *reinterpret_cast<Pair*>(at) = data;
  } else {
    store_bytes(at, bytes_of_unit(of, unit), data);
  }
}

// A call: its number, and where in a packet buffer its packets are.
struct Turn {
  std::uint32_t number;
  std::uint64_t offset;
  std::uint64_t cleared;  // WithoutNumbers: where this call clears the buffers that it reads
};

// The formats of packets. WithNumbers carries any data; two calls take turns. Before its own
// packets arrive a call finds those of the call before the last one.
struct WithNumbers {
  using Packet = TwoWords;
  static __device__ Turn turn(std::uint32_t last, std::uint64_t bytes) {
    const std::uint32_t number = next_packet_number(last);
    return {number, number % 2 * bytes, 0};
  }
  static __device__ Packet make(const Pair& data, const Turn& turn) {
    return packet_of(data, turn.number);
  }
  static __device__ bool has_come(const Packet& packet, const Turn& turn) {
    return is_of(packet, turn.number);
  }
  static __device__ Pair data(const Packet& packet) { return data_of(packet); }
  static __device__ void clear(const gpu::PacketTable&, std::uint64_t, const Turn&) {}
};

// The data alone, half the bytes: for sums of floating-point numbers. The place of a packet that
// has not come is 0. Three calls take turns, and call n clears the packets of call n - 1, which it
// has read: no peer is beyond call n + 1, since it needs this rank's part of each call, and peers
// write there again in call n + 2, for which they need this rank's part of call n + 1, of a launch
// behind the one that clears.
struct WithoutNumbers {
  using Packet = BarePacket;
  static __device__ Turn turn(std::uint32_t last, std::uint64_t bytes) {
    const std::uint32_t number = last < 2 ? last + 1 : 0;
    return {number, number * bytes, (number < 1 ? 2 : number - 1) * bytes};
  }
  static __device__ Packet make(const Pair& data, const Turn&) { return bare_packet_of(data); }
  static __device__ bool has_come(const Packet& packet, const Turn&) { return packet.word != 0; }
  static __device__ Pair data(const Packet& packet) { return data_of(packet); }
  static __device__ void clear(const gpu::PacketTable& of, std::uint64_t unit, const Turn& turn) {
    for (std::uint32_t peer = 0; peer < of.count; ++peer)
      store_packet(of.peers[peer].from + turn.cleared + unit * sizeof(Packet), Packet{0});
  }
};

template <typename Format>
__device__ Turn turn_of(const gpu::PacketTable& of) {
  return Format::turn(load_relaxed(of.last + blockIdx.x), of.turn);
}

// By all threads of a block, each of which has called turn_of(): the numbers that the block writes.
__device__ inline void end_turn(const gpu::PacketTable& of, const Turn& turn) {
  const std::uint32_t place = threadIdx.x;
  __syncthreads();  // all threads have read the last number
  if (place < of.places && place % gridDim.x == blockIdx.x) of.last[place] = turn.number;
}

// This thread's number, and how many there are.
struct Threads {
  std::uint64_t own = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
};

// What a thread loads before it waits for the first of these loads, so that their latencies
// overlap: up to four units of the only peer's part, or one unit of each of up to seven peers.
// Where a thread has one unit, code for one: with that for four an exchange of 128 bytes between
// two H200 takes 0.3 us longer (instruction cache).
template <typename Some, std::uint32_t kSomePeers, unsigned kSomeUnits, bool kAreWhole>
struct GroupOf {
  using Format = Some;
  static constexpr std::uint32_t kPeers = kSomePeers;
  static constexpr unsigned kUnits = kSomeUnits;
  static constexpr bool kWhole = kAreWhole;
};
template <typename Format>
using OfOneUnit = GroupOf<Format, 1, 1, true>;
template <typename Format>
using OfTwoRanks = GroupOf<Format, 1, 4, true>;
template <typename Format>
using OfMoreRanks = GroupOf<Format, 7, 1, true>;
template <typename Format>
using OfAnyParts = GroupOf<Format, 7, 1, false>;

// The units `unit`, unit + step, ... of a part, kUnits at most; those from `end` on do not exist.
template <typename Group>
struct Units {
  std::uint64_t unit, step, end;
  __device__ std::uint64_t at(unsigned i) const { return unit + i * step; }
  __device__ bool has(unsigned i) const { return at(i) < end; }
};

template <typename Group>
__device__ void load_units(const gpu::PacketTable& of, const unsigned char* part,
                           const Units<Group>& units, Pair (&data)[Group::kUnits]) {
#pragma unroll
  for (unsigned i = 0; i < Group::kUnits; ++i) {
    if (units.has(i)) data[i] = load_unit<Group::kWhole>(of, part, units.at(i));
  }
}

// The peer `step` places behind this rank.
__device__ inline const gpu::PacketTable::Peer& peer_behind(const gpu::PacketTable& of,
                                                            std::uint32_t step) {
  const std::uint32_t place = of.rank + step;
  return of.peers[place < of.count ? place : place - of.count];
}

// `to`: a packet buffer, at the call's offset.
template <typename Group>
__device__ void store_packets(unsigned char* to, const Units<Group>& units, const Turn& turn,
                              const Pair (&data)[Group::kUnits]) {
  using Format = typename Group::Format;
#pragma unroll
  for (unsigned i = 0; i < Group::kUnits; ++i) {
    if (!units.has(i)) continue;
    store_packet(to + units.at(i) * sizeof(typename Format::Packet), Format::make(data[i], turn));
  }
}

// Of all peers, the places that Turn::cleared tells.
template <typename Group>
__device__ void clear_units(const gpu::PacketTable& of, const Units<Group>& units,
                            const Turn& turn) {
#pragma unroll
  for (unsigned i = 0; i < Group::kUnits; ++i) {
    if (units.has(i)) Group::Format::clear(of, units.at(i), turn);
  }
}

// To the ranks behind this one first, so that ranks do not all push to one at a time.
template <typename Group>
__device__ void push_units(const gpu::PacketTable& of, const Units<Group>& units,
                           const Turn& turn) {
  for (std::uint32_t first = 0; first < of.count; first += Group::kPeers) {
    Pair data[Group::kPeers][Group::kUnits] = {};
#pragma unroll
    for (std::uint32_t p = 0; p < Group::kPeers; ++p) {
      if (first + p < of.count) load_units(of, peer_behind(of, first + p).source, units, data[p]);
    }
#pragma unroll
    for (std::uint32_t p = 0; p < Group::kPeers; ++p) {
      if (first + p < of.count)
        store_packets(peer_behind(of, first + p).to + turn.offset, units, turn, data[p]);
    }
  }
  clear_units(of, units, turn);
}

template <typename Format>
__device__ typename Format::Packet packet_from(const gpu::PacketTable& of, std::uint32_t peer,
                                               std::uint64_t unit, const Turn& turn) {
  using One = typename Format::Packet;
  return load_packet<One>(of.peers[peer].from + turn.offset + unit * sizeof(One));
}

// Waits for the units of the peers from `first` on. Between polls it calls goes_on(is_missing) now
// and then, where is_missing(peer) says whether packets of that peer have not come; if it returns
// false, the wait ends and false is returned.
template <typename Group, typename GoesOn>
__device__ bool pull_units(const gpu::PacketTable& of, const Units<Group>& units, const Turn& turn,
                           std::uint32_t first, const GoesOn& goes_on,
                           Pair (&data)[Group::kUnits][Group::kPeers]) {
  using Format = typename Group::Format;
  for (unsigned polls = 1;; ++polls) {
    bool come = true;
#pragma unroll
    for (unsigned i = 0; i < Group::kUnits; ++i) {
      if (!units.has(i)) continue;
#pragma unroll
      for (std::uint32_t p = 0; p < Group::kPeers; ++p) {
        if (first + p >= of.count) continue;
        const auto packet = packet_from<Format>(of, first + p, units.at(i), turn);
        come = come && Format::has_come(packet, turn);
        data[i][p] = Format::data(packet);
      }
    }
    if (come) return true;
    if (polls % kPollsPerCheck != 0) continue;
    const auto is_missing = [&](std::uint32_t peer) {
      bool has_come = true;
      for (unsigned i = 0; i < Group::kUnits && units.has(i); ++i) {
        has_come =
            has_come && Format::has_come(packet_from<Format>(of, peer, units.at(i), turn), turn);
      }
      return !has_come;
    };
    if (!goes_on(is_missing)) return false;
  }
}

// What is done with a unit of all parts: begin() with the rank's own, take() with those of kPeers
// peers from `first` on, several times, and end().
template <typename Group>
struct Moving {
  static __device__ bool needs_own(const gpu::PacketTable& of) { return of.own != of.result; }

  __device__ void begin(const gpu::PacketTable& of, std::uint64_t unit, const Pair& own) {
    if (needs_own(of)) store_unit<Group::kWhole>(of, of.result, unit, own);
  }
  __device__ void take(const gpu::PacketTable& of, std::uint64_t unit, std::uint32_t first,
                       const Pair (&data)[Group::kPeers]) {
#pragma unroll
    for (std::uint32_t p = 0; p < Group::kPeers; ++p) {
      if (first + p >= of.count) continue;
      store_unit<Group::kWhole>(of, of.peers[first + p].target, unit, data[p]);
    }
  }
  __device__ void end(const gpu::PacketTable&, std::uint64_t) {}
};

// By value: choosing between elements of an array would move the array from registers to memory.
__device__ inline Pair either(bool whether, const Pair& one, const Pair& other) {
  return {whether ? one.x : other.x, whether ? one.y : other.y};
}

// In the order of ranks, so that all have the same bits. Peers before this rank have its numbers as
// places, and those behind it stand one place lower.
template <typename Group, typename Type, typename Op>
struct Reducing {
  using Shape = WordPairs<Type>;

  static __device__ bool needs_own(const gpu::PacketTable&) { return true; }

  __device__ void begin(const gpu::PacketTable&, std::uint64_t, const Pair& part) { own_ = part; }
  __device__ void take(const gpu::PacketTable& of, std::uint64_t, std::uint32_t first,
                       const Pair (&data)[Group::kPeers]) {
#pragma unroll
    for (std::uint32_t p = 0; p < Group::kPeers; ++p) {
      const std::uint32_t rank = first + p;
      if (rank >= of.count) continue;
      const Pair next = either(rank < of.rank, data[p], either(rank == of.rank, own_, before_));
      if (rank == 0) {
        set<Shape>(values_, next);
      } else {
        add<Shape, Op>(values_, next);
      }
      before_ = data[p];
    }
  }
  // Behind the last peers.
  __device__ typename Type::Value (&all(const gpu::PacketTable& of))[Shape::kCount] {
    add<Shape, Op>(values_, either(of.rank == of.count, own_, before_));
    return values_;
  }
  __device__ void end(const gpu::PacketTable& of, std::uint64_t unit) {
    store_unit<Group::kWhole>(of, of.result, unit, rounded<Shape>(all(of), of.divisor));
  }

 private:
  typename Type::Value values_[Shape::kCount];
  Pair own_ = {}, before_ = {};
};

// All parts of the units, but for end(). False if the wait has been ended.
template <typename Take, typename Group, typename GoesOn>
__device__ bool take_parts(const gpu::PacketTable& of, const Units<Group>& units, const Turn& turn,
                           const GoesOn& goes_on, Take (&takes)[Group::kUnits]) {
  Pair own[Group::kUnits] = {};
  if (Take::needs_own(of)) load_units(of, of.own, units, own);
  for (std::uint32_t first = 0; first < of.count; first += Group::kPeers) {
    Pair data[Group::kUnits][Group::kPeers] = {};
    if (!pull_units(of, units, turn, first, goes_on, data)) return false;
#pragma unroll
    for (unsigned i = 0; i < Group::kUnits; ++i) {
      if (!units.has(i)) continue;
      if (first == 0) takes[i].begin(of, units.at(i), own[i]);
      takes[i].take(of, units.at(i), first, data[i]);
    }
  }
  return true;
}

template <typename Take, typename Group, typename GoesOn>
__device__ bool take_units(const gpu::PacketTable& of, const Units<Group>& units, const Turn& turn,
                           const GoesOn& goes_on) {
  Take takes[Group::kUnits];
  if (!take_parts(of, units, turn, goes_on, takes)) return false;
#pragma unroll
  for (unsigned i = 0; i < Group::kUnits; ++i) {
    if (units.has(i)) takes[i].end(of, units.at(i));
  }
  return true;
}

// This thread's units from `begin` on, which are not whole or not at multiples of 8. `turn` and
// `goes_on` are passed by value: a reference would keep them in memory for all other units as well.
template <typename Format>
DUET_NOT_INLINED void push_rest(const gpu::PacketTable& of, std::uint64_t begin, Turn turn) {
  const Threads threads;
  const std::uint64_t end = units_of(of);
#pragma unroll 1
  for (std::uint64_t unit = begin + threads.own; unit < end; unit += threads.all) {
    push_units(of, Units<OfAnyParts<Format>>{unit, threads.all, end}, turn);
  }
}
template <typename Take, typename Format, typename GoesOn>
DUET_NOT_INLINED void take_rest(const gpu::PacketTable& of, std::uint64_t begin, Turn turn,
                                GoesOn goes_on) {
  const Threads threads;
  const std::uint64_t end = units_of(of);
#pragma unroll 1
  for (std::uint64_t unit = begin + threads.own; unit < end; unit += threads.all) {
    const Units<OfAnyParts<Format>> units{unit, threads.all, end};
    if (!take_units<typename Take::template Of<OfAnyParts<Format>>>(of, units, turn, goes_on))
      return;
  }
}
#undef DUET_NOT_INLINED

// Pushes all packets before it waits for any. Each block reads and writes the number of the last
// call in a word of its own, so that blocks need not wait for each other. A part may be received
// where one is sent from, if it is the same place: each thread receives only the units that it has
// pushed.
template <typename Take, typename Group, typename GoesOn>
__device__ void exchange_groups(const gpu::PacketTable& of, const GoesOn& goes_on) {
  using Format = typename Group::Format;
  const Threads threads;
  const std::uint64_t end = of.aligned != 0 ? of.bytes / kPacketDataBytes : 0;
  const bool has_rest = end + threads.own < units_of(of);
  const Turn turn = turn_of<Format>(of);
  for (std::uint64_t unit = threads.own; unit < end; unit += Group::kUnits * threads.all) {
    push_units(of, Units<Group>{unit, threads.all, end}, turn);
  }
  if (has_rest) push_rest<Format>(of, end, turn);
  end_turn(of, turn);
  for (std::uint64_t unit = threads.own; unit < end; unit += Group::kUnits * threads.all) {
    const Units<Group> units{unit, threads.all, end};
    if (!take_units<typename Take::template Of<Group>>(of, units, turn, goes_on)) return;
  }
  if (has_rest) take_rest<Take, Format>(of, end, turn, goes_on);
}

// What is done with all parts: Of<Group> with a unit.
struct Moves {
  template <typename Group>
  using Of = Moving<Group>;
};
template <typename Type, typename Op>
struct Reduces {
  template <typename Group>
  using Of = Reducing<Group, Type, Op>;
};

// By all threads of a kernel of kKernelThreads threads a block. If goes_on() ends it
// (pull_units()), results are unspecified.
template <typename Take, typename Format, typename GoesOn>
__device__ void exchange_packets(const gpu::PacketTable& of, const GoesOn& goes_on) {
  if (of.count == 1 && of.bytes <= gridDim.x * blockDim.x * kPacketDataBytes) {
    exchange_groups<Take, OfOneUnit<Format>>(of, goes_on);
  } else if (of.count == 1) {
    exchange_groups<Take, OfTwoRanks<Format>>(of, goes_on);
  } else {
    exchange_groups<Take, OfMoreRanks<Format>>(of, goes_on);
  }
}

// For kernels of libduet: ends the wait if a peer has failed.
struct GoesOnUntilFailure {
  const gpu::PacketKernelTable& table;
  template <typename Missing>
  __device__ bool operator()(const Missing&) const {
    for (std::uint32_t peer = 0; peer < table.exchange.count; ++peer) {
      if (load_acquire(table.failed[peer]) != 0) return false;
    }
    return true;
  }
};

}  // namespace duet::DUET_GPU
