#pragma once

#include "device/gpu/packet.h"
#include "device/gpu/reduction_words.h"

namespace duet::DUET_GPU {

// As Vectors (reduction_words.h), for the 8 bytes of a unit or a packet.
template <typename Type>
struct WordPairs {
  using Word = Pair;
  using Lanes = Type;
  static constexpr int kCount = 2 * Type::kInWord;
  static __device__ typename Type::Value get(const Word& word, int i) {
    return Type::get(i < Type::kInWord ? word.x : word.y, i % Type::kInWord);
  }
  static __device__ Word make(const typename Type::Value (&values)[kCount]) {
    Word word{0, 0};
#pragma unroll
    for (int i = 0; i < Type::kInWord; ++i) {
      word.x |= Type::put(values[i], i);
      word.y |= Type::put(values[Type::kInWord + i], i);
    }
    return word;
  }
};

}  // namespace duet::DUET_GPU
