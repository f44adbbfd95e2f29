// How the threads of a block move or reduce a piece of an item. Over a link the number of bytes in
// flight limits the rate, so loads and stores are wide and each thread has many of them in flight.
// Every thread reads all sources of a word before it writes the word, so a source may also be the
// destination.
#pragma once

#include <cstdint>

#include "device/collective_kernel.h"
#include "device/gpu/reduction_words.h"
#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

constexpr int kInFlight = 8;  // loads in flight per thread
// The same for long pieces, so that few blocks saturate a link.
constexpr int kInFlightDeep = 16;

// The number of threads that process a piece, and this thread's index among them.
struct ThreadGroup {
  unsigned thread;
  unsigned threads;
};
__device__ inline ThreadGroup whole_block() { return {threadIdx.x, kKernelThreads}; }

// A piece of an item's slice: `count` words from `offset` bytes on.
struct Piece {
  unsigned char* const* sources;
  unsigned char* const* destinations;
  int source_count;
  int destination_count;
  std::uint64_t offset;
  std::uint64_t count;
  ThreadGroup group;
};

// Plain pointers, so that loads bypass the read-only cache: peers write this memory while the
// kernel runs.
template <typename Word>
__device__ const Word* source_words(const Piece& piece, int source) {
  return reinterpret_cast<const Word*>(piece.sources[source] + piece.offset);
}

// Stores those words of a batch that lie within the piece.
template <typename Word, int kBatch>
__device__ void store_batch(const Piece& piece, std::uint64_t first, const Word (&words)[kBatch]) {
  for (int d = 0; d < piece.destination_count; ++d) {
    Word* const to = reinterpret_cast<Word*>(piece.destinations[d] + piece.offset);
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const std::uint64_t at = first + k * piece.group.threads;
      if (at < piece.count) to[at] = words[k];
    }
  }
}

// Clamps an index to the piece. Loads past the end read the last word again instead of branching,
// so that all loads of a batch are issued together.
__device__ inline std::uint64_t within(const Piece& piece, std::uint64_t at) {
  return at < piece.count ? at : piece.count - 1;
}

template <typename Word, int kBatch>
__device__ void copy_piece(const Piece& piece) {
  const Word* const from = source_words<Word>(piece, 0);
  for (std::uint64_t first = piece.group.thread; first < piece.count;
       first += kBatch * piece.group.threads) {
    Word held[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) held[k] = from[within(piece, first + k * piece.group.threads)];
    store_batch(piece, first, held);
  }
}

template <typename Shape>
__device__ typename Shape::Word rounded(typename Shape::Lanes::Value (&values)[Shape::kCount],
                                        int divisor) {
  if (divisor > 1) {
#pragma unroll
    for (int i = 0; i < Shape::kCount; ++i) {
      values[i] /= static_cast<typename Shape::Lanes::Value>(divisor);
    }
  }
  return Shape::make(values);
}

template <typename Shape, typename Op>
__device__ void add(typename Shape::Lanes::Value (&values)[Shape::kCount],
                    const typename Shape::Word& word) {
#pragma unroll
  for (int i = 0; i < Shape::kCount; ++i) values[i] = Op::of(values[i], Shape::get(word, i));
}

template <typename Shape>
__device__ void set(typename Shape::Lanes::Value (&values)[Shape::kCount],
                    const typename Shape::Word& word) {
#pragma unroll
  for (int i = 0; i < Shape::kCount; ++i) values[i] = Shape::get(word, i);
}

// Reduces a number of sources that is known at compile time: the loads of all sources are in flight
// at once.
template <typename Shape, typename Op, int kSources, int kLoads>
__device__ void reduce_batches(const Piece& piece, int divisor) {
  using Word = typename Shape::Word;
  constexpr int kBatch = kLoads / kSources;
  const Word* from[kSources];
#pragma unroll
  for (int s = 0; s < kSources; ++s) from[s] = source_words<Word>(piece, s);
  for (std::uint64_t first = piece.group.thread; first < piece.count;
       first += kBatch * piece.group.threads) {
    Word held[kBatch][kSources];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const std::uint64_t at = within(piece, first + k * piece.group.threads);
#pragma unroll
      for (int s = 0; s < kSources; ++s) held[k][s] = from[s][at];
    }
    Word results[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      typename Shape::Lanes::Value values[Shape::kCount];
      set<Shape>(values, held[k][0]);
#pragma unroll
      for (int s = 1; s < kSources; ++s) add<Shape, Op>(values, held[k][s]);
      results[k] = rounded<Shape>(values, divisor);
    }
    store_batch(piece, first, results);
  }
}

template <typename Shape, typename Op, int kSources>
__device__ void reduce_known(const Piece& piece, int divisor) {
  if (piece.count >= kInFlightDeep / kSources * piece.group.threads) {
    reduce_batches<Shape, Op, kSources, kInFlightDeep>(piece, divisor);
  } else {
    reduce_batches<Shape, Op, kSources, kInFlight>(piece, divisor);
  }
}

// Reduces any number of sources, one after the other, with half a batch of loads in flight.
template <typename Shape, typename Op>
__device__ void reduce_any(const Piece& piece, int divisor) {
  using Word = typename Shape::Word;
  constexpr int kBatch = kInFlight / 2;
  for (std::uint64_t first = piece.group.thread; first < piece.count;
       first += kBatch * piece.group.threads) {
    typename Shape::Lanes::Value values[kBatch][Shape::kCount];
    for (int s = 0; s < piece.source_count; ++s) {
      const Word* const from = source_words<Word>(piece, s);
      Word held[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k)
        held[k] = from[within(piece, first + k * piece.group.threads)];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        if (s == 0) {
          set<Shape>(values[k], held[k]);
        } else {
          add<Shape, Op>(values[k], held[k]);
        }
      }
    }
    Word results[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) results[k] = rounded<Shape>(values[k], divisor);
    store_batch(piece, first, results);
  }
}

template <typename Type, typename Op>
__device__ void reduce_vectors(const Piece& piece, int divisor) {
  switch (piece.source_count) {
    case 2:
      return reduce_known<Vectors<Type>, Op, 2>(piece, divisor);
    case 4:
      return reduce_known<Vectors<Type>, Op, 4>(piece, divisor);
    case 8:
      return reduce_known<Vectors<Type>, Op, 8>(piece, divisor);
    default:
      return reduce_any<Vectors<Type>, Op>(piece, divisor);
  }
}

}  // namespace duet::DUET_GPU
