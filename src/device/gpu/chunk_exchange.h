// The exchange of chunks by a kernel: every rank pushes its parts, chunk by chunk, into buffers at
// its peers, signals each by a flag there, and takes what has come from its own buffers. It needs
// no address of a user's buffer at another rank. For calls above those that go by packets.
//
//   block b of rank r                               block b of rank p
//   store chunk n into p's place n % 4  ----->
//   barrier; flag at p = n + 1          ----->      wait until the flag is n + 1
//                                                   move chunk n out, or reduce it
//   wait until p's flag is n + 1        <-----      ... and sends its own chunk n likewise
//
// No rank tells another that a place is free. A block sends chunk n when it has taken chunk n - 2
// of every peer, which that peer has sent when it had taken chunk n - 4 of this one: that of the
// same place. So each chunk is signalled to all peers, also where it has no data for some. Numbers
// go on over calls, also those of other numbers of blocks, since each block counts its own; all
// chunks of a call are taken in it.
//
// Calls of two passes send chunks of the first and of the second in turn, kChunksAhead of each, so
// that what comes of the first pass is taken where what is made of it is sent. Of a last group that
// is not full, the numbers of the missing chunks are left out: the argument above holds, as all
// chunks of the group's first pass have been taken before the last one of the second is sent.
#pragma once

#include <cstdint>

#include "core/chunks.h"
#include "device/gpu/chunk_table.h"
#include "device/gpu/item_slices.h"
#include "device/gpu/system_words.h"

namespace duet::DUET_GPU {

// Polls of a flag between two checks whether to go on.
constexpr unsigned kFlagPollsPerCheck = 512;

// The last threads of a block signal, while the others go on: a signal waits until all stores have
// arrived. Blocks that have no more threads than these do both with all.
constexpr unsigned kSignalThreads = 32, kLockstep = 32;
__device__ inline unsigned moving_threads() {
  return blockDim.x > kSignalThreads ? blockDim.x - kSignalThreads : blockDim.x;
}

// A chunk of a part of `bytes` bytes, in this block's share.
struct ChunkPlace {
  std::uint64_t offset, bytes;
};
__device__ inline ChunkPlace chunk_of(const gpu::ChunkTable& of, std::uint32_t index,
                                      std::uint64_t bytes) {
  const std::uint64_t begin = of.share * blockIdx.x + of.chunk * index;
  const std::uint64_t end_of_share = of.share * (blockIdx.x + 1);
  const std::uint64_t end = end_of_share < bytes ? end_of_share : bytes;
  if (begin >= end) return {0, 0};
  return {begin, end - begin < of.chunk ? end - begin : of.chunk};
}

// The chunk that is sent as number `step` of a call, or has been.
struct ChunkStep {
  std::uint32_t index;
  bool exists, is_second;  // of the second pass
};
__device__ inline ChunkStep chunk_step(const gpu::ChunkTable& of, std::uint32_t step) {
  if (of.passes == 1) return {step, step < of.chunks, false};
  const std::uint32_t group = step / kChunksAhead;
  const std::uint32_t index = group / 2 * kChunksAhead + step % kChunksAhead;
  return {index, index < of.chunks, group % 2 != 0};
}
__device__ inline std::uint32_t steps_of(const gpu::ChunkTable& of) {
  if (of.passes == 1) return of.chunks;
  return (of.chunks + kChunksAhead - 1) / kChunksAhead * 2 * kChunksAhead;
}

__device__ inline std::uint32_t* chunk_flag(unsigned char* buffer) {
  return reinterpret_cast<std::uint32_t*>(buffer + kChunkFlagBytes * blockIdx.x);
}
__device__ inline unsigned char* chunk_place(const gpu::ChunkTable& of, unsigned char* buffer,
                                             std::uint32_t number) {
  return buffer + kMostChunkBlocks * kChunkFlagBytes +
         (kChunkPlaces * blockIdx.x + number % kChunkPlaces) * of.room;
}
// Numbers may wrap.
__device__ inline bool has_come(std::uint32_t flag, std::uint32_t number) {
  return static_cast<std::int32_t>(flag - number) >= 0;
}

// By every thread that reads what has come, so that no barrier is needed behind it. Now and then it
// calls goes_on(is_missing), where is_missing(peer) says whether that peer's chunk has not come; if
// that returns false, the wait ends and false is returned.
template <typename GoesOn>
__device__ bool wait_for_chunks(const gpu::ChunkTable& of, std::uint32_t number,
                                const GoesOn& goes_on) {
  const auto is_missing = [&](std::uint32_t peer) {
    return !has_come(load_relaxed(chunk_flag(of.peers[peer].from)), number);
  };
  for (std::uint32_t peer = 0; peer < of.count; ++peer) {
    for (unsigned polls = 1; is_missing(peer); ++polls) {
      if (polls % kFlagPollsPerCheck == 0 && !goes_on(is_missing)) return false;
    }
    load_acquire(chunk_flag(of.peers[peer].from));
  }
  return true;
}

// By the threads that signal, behind a barrier: all that the block has stored is there before the
// flag is.
__device__ inline void signal_chunk(const gpu::ChunkTable& of, std::uint32_t number) {
  const unsigned moving = moving_threads(), first = moving == blockDim.x ? 0 : moving;
  if (threadIdx.x < first) return;
  for (std::uint32_t peer = threadIdx.x - first; peer < of.count; peer += blockDim.x - first) {
    store_release(chunk_flag(of.peers[peer].to), number);
  }
}

// This thread's group, where `count` copies are made side by side by groups of whole warps: it
// makes the copies first, first + step, ...
struct CopyGroup {
  unsigned first, step;
  ThreadGroup threads;
};
__device__ inline CopyGroup copy_group(unsigned count) {
  const unsigned moving = moving_threads();
  const unsigned warps = moving < kLockstep ? 1 : moving / kLockstep;
  const unsigned groups = count < warps ? count : warps;
  const unsigned of_each = warps / groups * (moving < kLockstep ? moving : kLockstep);
  const unsigned group = threadIdx.x / of_each;
  return {group < groups ? group : count, groups, {threadIdx.x % of_each, of_each}};
}

// Where a chunk goes: to the places of all peers, to one of them, to this rank's memory.
struct Fan {
  unsigned char* to[kMostPacketPeers + 1];
  int count = 0;
  __device__ void add(unsigned char* one) { to[count++] = one; }
};

// A chunk's words, and behind those of 16 bytes what is left of it, in elements of `unit` bytes.
// Addresses are multiples of the table's width.
struct ChunkPieces {
  Piece words, rest;
};
__device__ inline ChunkPieces pieces_of(const Piece& whole, std::uint64_t bytes, unsigned word,
                                        unsigned unit) {
  ChunkPieces made{whole, whole};
  made.words.count = bytes >> shift_of(word);
  made.rest.offset = made.words.count << shift_of(word);
  made.rest.count = (bytes - made.rest.offset) >> shift_of(unit);
  return made;
}

// What has the loops over data is not inlined: so it has all registers, and a kernel has each once.
#define DUET_NOT_INLINED __device__ __attribute__((noinline))

// By a group of threads, each with as many loads in flight as it has words.
DUET_NOT_INLINED inline void copy_chunk(const gpu::ChunkTable& of, const unsigned char* from,
                                        const Fan& fan, std::uint64_t bytes,
                                        const ThreadGroup& group) {
  if (bytes == 0) return;
  unsigned char* const source = const_cast<unsigned char*>(from);
  const ChunkPieces pieces =
      pieces_of({&source, fan.to, 1, fan.count, 0, 0, group}, bytes, of.width, 1);
  if (of.width == 16 && pieces.words.count > kInFlight * group.threads) {
    copy_piece<Quad, kInFlightDeep>(pieces.words);
  } else if (of.width == 16) {
    copy_piece<Quad, kInFlight>(pieces.words);
  } else if (of.width == 4) {
    copy_piece<std::uint32_t, kInFlight>(pieces.words);
  } else {
    copy_piece<std::uint8_t, kInFlight>(pieces.words);
  }
  if (of.width > 1) copy_piece<std::uint8_t, 1>(pieces.rest);
}

// The peer `step` places behind this rank, so that ranks do not all push to one at a time.
__device__ inline const gpu::ChunkTable::Peer& chunk_peer_behind(const gpu::ChunkTable& of,
                                                                 std::uint32_t step) {
  const std::uint32_t place = of.rank + step;
  return of.peers[place < of.count ? place : place - of.count];
}
__device__ inline ThreadGroup all_that_move() { return {threadIdx.x, moving_threads()}; }

// The first pass's chunk `index` of the part that all get, as number `number`.
__device__ inline void send_one_part(const gpu::ChunkTable& of, std::uint32_t index,
                                     std::uint32_t number) {
  const ChunkPlace chunk = chunk_of(of, index, of.own_bytes);
  Fan fan;
  for (std::uint32_t p = 0; p < of.count; ++p)
    fan.add(chunk_place(of, chunk_peer_behind(of, p).to, number));
  if (of.own != of.result) fan.add(of.result + chunk.offset);
  copy_chunk(of, of.own + chunk.offset, fan, chunk.bytes, all_that_move());
}

// The same of a part for each. This rank's own part is copied like one for a peer, where it is not
// reduced.
__device__ inline void send_parts(const gpu::ChunkTable& of, std::uint32_t index,
                                  std::uint32_t number, bool keeps_own) {
  const unsigned copies = of.count + (keeps_own ? 1 : 0);
  const CopyGroup group = copy_group(copies);
  for (unsigned p = group.first; p < copies; p += group.step) {
    const bool is_own = p == of.count;
    const gpu::ChunkTable::Peer& peer = chunk_peer_behind(of, is_own ? 0 : p);
    const ChunkPlace chunk = chunk_of(of, index, is_own ? of.own_bytes : peer.sent);
    Fan fan;
    fan.add(is_own ? of.result + chunk.offset : chunk_place(of, peer.to, number));
    if (!is_own && peer.kept != nullptr) fan.add(peer.kept + chunk.offset);
    copy_chunk(of, (is_own ? of.own : peer.source) + chunk.offset, fan, chunk.bytes, group.threads);
  }
}

// Chunk `index` of the peers' parts to their targets: those of the first pass, or of the second.
__device__ inline void take_parts(const gpu::ChunkTable& of, const ChunkStep& step,
                                  std::uint32_t number) {
  const CopyGroup group = copy_group(of.count);
  for (unsigned p = group.first; p < of.count; p += group.step) {
    const gpu::ChunkTable::Peer& peer = of.peers[p];
    const ChunkPlace chunk =
        chunk_of(of, step.index, step.is_second ? peer.returned : peer.brought);
    Fan fan;
    fan.add(peer.target + chunk.offset);
    copy_chunk(of, chunk_place(of, peer.from, number), fan, chunk.bytes, group.threads);
  }
}

// What is made of chunk `index` of the first pass, which has come as number `number`, for the own
// result and for the peers that it is passed on to.
__device__ inline Fan passed_to(const gpu::ChunkTable& of, const ChunkPlace& chunk,
                                std::uint32_t number) {
  Fan fan;
  for (std::uint32_t p = 0; of.passes == 2 && p < of.count; ++p) {
    const gpu::ChunkTable::Peer& peer = chunk_peer_behind(of, p);
    if (peer.passed > 0) fan.add(chunk_place(of, peer.to, number + kChunksAhead));
  }
  fan.add(of.result + chunk.offset);
  return fan;
}

// What is done with the parts of the first pass: they are moved, or passed on as they are,
struct MovesChunks {
  static constexpr bool kReduces = false;
  static DUET_NOT_INLINED void make(const gpu::ChunkTable& of, std::uint32_t index,
                                    std::uint32_t number) {
    if (of.origin >= of.count) return;
    const gpu::ChunkTable::Peer& origin = of.peers[of.origin];
    const ChunkPlace chunk = chunk_of(of, index, origin.brought);
    copy_chunk(of, chunk_place(of, origin.from, number), passed_to(of, chunk, number), chunk.bytes,
               all_that_move());
  }
};
// or reduced, in the order of ranks.
template <typename Type, typename Op>
struct ReducesChunks {
  static constexpr bool kReduces = true;
  static DUET_NOT_INLINED void make(const gpu::ChunkTable& of, std::uint32_t index,
                                    std::uint32_t number) {
    const ChunkPlace chunk = chunk_of(of, index, of.own_bytes);
    if (chunk.bytes == 0) return;
    const Fan fan = passed_to(of, chunk, number);
    unsigned char* parts[kMostPacketPeers + 1];
    for (std::uint32_t p = 0; p < of.count; ++p)
      parts[p < of.rank ? p : p + 1] = chunk_place(of, of.peers[p].from, number);
    parts[of.rank] = const_cast<unsigned char*>(of.own) + chunk.offset;
    constexpr unsigned kUnit = sizeof(typename Type::Element);
    const bool is_aligned = of.width == 16;
    const ChunkPieces pieces =
        pieces_of({parts, fan.to, static_cast<int>(of.count + 1), fan.count, 0, 0, all_that_move()},
                  chunk.bytes, is_aligned ? 16 : kUnit, kUnit);
    if (is_aligned) reduce_vectors<Type, Op>(pieces.words, of.divisor);
    reduce_any<SingleWords<Type>, Op>(is_aligned ? pieces.rest : pieces.words, of.divisor);
  }
};

#undef DUET_NOT_INLINED

// What has come as number `taken` of the call, whose numbers begin behind `last`; then what goes as
// number `step`.
template <typename Take>
__device__ void move_chunks(const gpu::ChunkTable& of, std::uint32_t last, std::uint32_t step) {
  const ChunkStep sent = chunk_step(of, step);
  const ChunkStep taken = chunk_step(of, step - kChunksAhead);
  if (step >= kChunksAhead && taken.exists) {
    const std::uint32_t number = last + step - kChunksAhead;
    if (taken.is_second || (of.passes == 1 && !Take::kReduces)) {
      take_parts(of, taken, number);
    } else {
      Take::make(of, taken.index, number);
    }
  }
  if (step >= steps_of(of) || !sent.exists || sent.is_second) return;
  if (of.is_one_source != 0) {
    send_one_part(of, sent.index, last + step);
  } else {
    const bool keeps_own = !Take::kReduces && of.own != nullptr && of.own != of.result;
    send_parts(of, sent.index, last + step, keeps_own);
  }
}

// By all threads of a kernel of ChunkShape::blocks blocks. If goes_on() ends it
// (wait_for_chunks()), results are unspecified, and the block sends nothing in later calls: a peer
// may still be about to take what it has sent in this one, whose places they would use.
template <typename Take, typename GoesOn>
__device__ void exchange_chunks(const gpu::ChunkTable& of, const GoesOn& goes_on) {
  if (of.ended[blockIdx.x] != 0) return;
  const std::uint32_t last = load_relaxed(of.last + blockIdx.x);
  const std::uint32_t steps = steps_of(of);
  for (std::uint32_t step = 0; step < steps + kChunksAhead; ++step) {
    const bool takes = step >= kChunksAhead && chunk_step(of, step - kChunksAhead).exists;
    bool goes = true;
    if (threadIdx.x < moving_threads()) {
      goes = !takes || wait_for_chunks(of, last + step - kChunksAhead + 1, goes_on);
      if (goes) move_chunks<Take>(of, last, step);
    }
    finish_stores();
    if (__syncthreads_or(goes ? 0 : 1) != 0) {
      if (threadIdx.x == 0) of.ended[blockIdx.x] = 1;
      return;
    }
    if (step < steps && chunk_step(of, step).exists) signal_chunk(of, last + step + 1);
  }
  if (threadIdx.x == 0) of.last[blockIdx.x] = last + steps;
}

}  // namespace duet::DUET_GPU
