// Processes a slice of an item by the widest words that its addresses allow: a head, aligned words
// and a tail.
#pragma once

#include <cstdint>

#include "device/gpu/item_piece.h"

namespace duet::DUET_GPU {

// A slice divided into a head up to the first aligned address, aligned words, and a tail.
struct AlignedSlice {
  Piece head, words, tail;  // heads and tails count in units of `unit` bytes
};

// Base-2 logarithm of a word size of 1, 2, 4 or 16 bytes. It replaces 64-bit divisions, which take
// a considerable part of a small kernel's time.
__device__ inline unsigned shift_of(unsigned bytes) { return bytes == 16 ? 4 : bytes / 2; }

__device__ inline AlignedSlice cut(Piece piece, std::uint64_t bytes, unsigned width,
                                   unsigned unit) {
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(piece.sources[0]) + piece.offset;
  const unsigned missing = (width - static_cast<unsigned>(address)) & (width - 1);
  const std::uint64_t head = missing < bytes ? missing : bytes;
  const std::uint64_t body = (bytes - head) & ~std::uint64_t{width - 1};
  AlignedSlice result{piece, piece, piece};
  result.head.count = head >> shift_of(unit);
  result.words.offset = piece.offset + head;
  result.words.count = body >> shift_of(width);
  result.tail.offset = result.words.offset + body;
  result.tail.count = (bytes - head - body) >> shift_of(unit);
  return result;
}

template <int kBatch>
__device__ void copy_slice(const Piece& slice, std::uint64_t bytes, unsigned width) {
  const AlignedSlice pieces = cut(slice, bytes, width, 1);
  copy_piece<std::uint8_t, kBatch>(pieces.head);
  if (width == 16) {
    copy_piece<Quad, kBatch>(pieces.words);
  } else if (width == 4) {
    copy_piece<std::uint32_t, kBatch>(pieces.words);
  } else {
    copy_piece<std::uint8_t, kBatch>(pieces.words);
  }
  copy_piece<std::uint8_t, kBatch>(pieces.tail);
}

template <typename Type, typename Op>
__device__ void reduce_slice(const Piece& slice, std::uint64_t bytes, unsigned width, int divisor) {
  constexpr unsigned kUnit = sizeof(typename Type::Element);
  const AlignedSlice pieces = cut(slice, bytes, width == 16 ? 16 : kUnit, kUnit);
  reduce_any<SingleWords<Type>, Op>(pieces.head, divisor);
  if (width == 16) {
    reduce_vectors<Type, Op>(pieces.words, divisor);
  } else {
    reduce_any<SingleWords<Type>, Op>(pieces.words, divisor);
  }
  reduce_any<SingleWords<Type>, Op>(pieces.tail, divisor);
}

// This block's slice of an item of `bytes` bytes. Every block but the last ones has `share` vectors
// of 16 bytes (first_share()).
__device__ inline BlockSlice own_slice(std::uint64_t bytes, std::uint32_t share) {
  const std::uint64_t length = std::uint64_t{share} * sizeof(Quad);
  const std::uint64_t begin = length * blockIdx.x, end = begin + length;
  if (begin >= bytes) return {bytes, bytes};
  return {begin, end < bytes ? end : bytes};
}

}  // namespace duet::DUET_GPU
