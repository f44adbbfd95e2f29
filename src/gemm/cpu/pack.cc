// Packing for the CPU GEMM. Memory along k is transposed in blocks of 16 x 16 words in registers;
// memory along lines is copied, in bf16 with two rows interleaved.
#include "gemm/cpu/pack.h"

// GCC 12 takes the deliberately undefined operands inside its AVX-512 intrinsics for mistakes
// (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace duet {
namespace {

constexpr int kBlock = 16;
#define DUET_AVX512 __attribute__((target("avx512f")))

// rows[i] holds words j of line i; afterwards rows[j] holds lines i of word j.
DUET_AVX512 void transpose(__m512i rows[kBlock]) {
  __m512i t[kBlock];
  for (int i = 0; i < kBlock; i += 2) {
    t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < kBlock; i += 4) {
    for (int j = 0; j < 2; ++j) {
      rows[i + 2 * j] = _mm512_unpacklo_epi64(t[i + j], t[i + j + 2]);
      rows[i + 2 * j + 1] = _mm512_unpackhi_epi64(t[i + j], t[i + j + 2]);
    }
  }
  // rows[4 g + w] now holds, in each 128-bit lane L, lines 4 g .. 4 g + 3 of word 4 L + w.
  for (int w = 0; w < 4; ++w) {
    const __m512i even01 = _mm512_shuffle_i32x4(rows[w], rows[4 + w], 0x88);
    const __m512i odd01 = _mm512_shuffle_i32x4(rows[w], rows[4 + w], 0xdd);
    const __m512i even23 = _mm512_shuffle_i32x4(rows[8 + w], rows[12 + w], 0x88);
    const __m512i odd23 = _mm512_shuffle_i32x4(rows[8 + w], rows[12 + w], 0xdd);
    t[w] = _mm512_shuffle_i32x4(even01, even23, 0x88);
    t[4 + w] = _mm512_shuffle_i32x4(odd01, odd23, 0x88);
    t[8 + w] = _mm512_shuffle_i32x4(even01, even23, 0xdd);
    t[12 + w] = _mm512_shuffle_i32x4(odd01, odd23, 0xdd);
  }
  std::memcpy(rows, t, sizeof t);
}

// `lines` (<= 16) lines from `line`, all words of the part, into out with a stride of part.width.
DUET_AVX512 void pack_along_k(const PackSource& source, const PackPart& part, int lines,
                              std::uint32_t* out) {
  const std::int64_t element = static_cast<std::int64_t>(size_of(source.dtype));
  const std::int64_t row_bytes = source.k * element;
  const auto mask = static_cast<__mmask16>((1u << lines) - 1);
  for (std::int64_t w = 0; w < part.words; w += kBlock) {
    const std::int64_t left =
        std::min<std::int64_t>(row_bytes - (part.word + w) * 4, 4 * kBlock);  // bytes of k
    __m512i rows[kBlock];
    for (int i = 0; i < kBlock; ++i) {
      rows[i] = _mm512_setzero_si512();
      if (i >= lines || part.line + i >= source.lines || left <= 0) continue;
      const char* from =
          static_cast<const char*>(source.data) + (part.line + i) * row_bytes + (part.word + w) * 4;
      _mm_prefetch(from + 256, _MM_HINT_T0);  // more streams than the hardware follows
      if (left == 4 * kBlock) {
        rows[i] = _mm512_loadu_si512(from);
      } else {
        std::memcpy(&rows[i], from, static_cast<std::size_t>(left));
      }
    }
    transpose(rows);
    const std::int64_t count = std::min<std::int64_t>(kBlock, part.words - w);
    for (std::int64_t j = 0; j < count; ++j) {
      _mm512_mask_storeu_epi32(out + (w + j) * part.width, mask, rows[j]);
    }
  }
}

// Full slivers of 32 lines.
DUET_AVX512 void pack_along_lines(const PackSource& source, const PackPart& part,
                                  std::uint32_t* out) {
  const __m512i low = _mm512_set_epi32(23, 22, 21, 20, 7, 6, 5, 4, 19, 18, 17, 16, 3, 2, 1, 0);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  for (std::int64_t w = 0; w < part.words; ++w, out += part.width) {
    if (source.dtype == DType::fp32) {
      const float* row =
          static_cast<const float*>(source.data) + (part.word + w) * source.lines + part.line;
      std::memcpy(out, row, sizeof(float) * static_cast<std::size_t>(part.width));
      continue;
    }
    const std::int64_t k = 2 * (part.word + w);
    const std::uint16_t* row =
        static_cast<const std::uint16_t*>(source.data) + k * source.lines + part.line;
    const __m512i even = _mm512_loadu_si512(row);
    const __m512i odd =
        k + 1 < source.k ? _mm512_loadu_si512(row + source.lines) : _mm512_setzero_si512();
    // Words of 16-bit pairs (even, odd): the low halves of both, or the high halves of both.
    const __m512i mask = _mm512_set1_epi32(0xFFFF);
    const __m512i first = _mm512_or_si512(_mm512_and_si512(even, mask), _mm512_slli_epi32(odd, 16));
    const __m512i second =
        _mm512_or_si512(_mm512_srli_epi32(even, 16), _mm512_andnot_si512(mask, odd));
    // `first` holds columns 0 2 4 ..., `second` 1 3 5 ...: interleave, then put lanes in order.
    const __m512i lo = _mm512_unpacklo_epi32(first, second);
    const __m512i hi = _mm512_unpackhi_epi32(first, second);
    _mm512_storeu_si512(out, _mm512_permutex2var_epi32(lo, low, hi));
    _mm512_storeu_si512(out + kBlock, _mm512_permutex2var_epi32(lo, high, hi));
  }
}

// The right-hand edge of B in layout nn, and any other case without a fast path.
void pack_edge(const PackSource& source, const PackPart& part, std::uint32_t* out) {
  const std::size_t element = size_of(source.dtype);
  const std::int64_t per_word = word_elements(source.dtype);
  std::memset(out, 0, static_cast<std::size_t>(part.words * part.width) * 4);
  for (std::int64_t k = part.word * per_word; k < (part.word + part.words) * per_word; ++k) {
    for (std::int64_t i = part.line; i < part.line + part.width; ++i) {
      if (k >= source.k || i >= source.lines) continue;
      const auto from = static_cast<std::size_t>(k * source.lines + i);
      const auto to = static_cast<std::size_t>(
          ((k - part.word * per_word) / per_word * part.width + i - part.line) * per_word +
          k % per_word);
      std::memcpy(reinterpret_cast<char*>(out) + to * element,
                  static_cast<const char*>(source.data) + from * element, element);
    }
  }
}

}  // namespace

std::int64_t word_elements(DType dtype) { return dtype == DType::fp32 ? 1 : 2; }

void pack(const PackSource& source, const PackPart& part, std::uint32_t* out) {
  if (source.along_k) {
    pack_along_k(source, part, std::min(part.width, kBlock), out);
    if (part.width > kBlock) {
      PackPart rest = part;
      rest.line += kBlock;
      pack_along_k(source, rest, part.width - kBlock, out + kBlock);
    }
  } else if (part.line + part.width <= source.lines) {
    pack_along_lines(source, part, out);
  } else {
    pack_edge(source, part, out);
  }
}

}  // namespace duet
