#include "device/host/copy_bytes.h"

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace duet::host {
namespace {

constexpr std::size_t kLine = 64;  // bytes of a cache line

// Copies by non-temporal stores. `to` is aligned to a line and `bytes` is a multiple of its size.
using Loop = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

__attribute__((target("avx512f"))) void stream_512(std::byte* to, const std::byte* from,
                                                   std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kLine) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
  }
}

void stream_128(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += sizeof(__m128i)) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
}

Loop stream_loop() {
  static const Loop loop = __builtin_cpu_supports("avx512f") ? stream_512 : stream_128;
  return loop;
}

}  // namespace

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes, Through through) {
  if (bytes == 0) return;  // an empty buffer has no address
  if (through == Through::caches) {
    std::memcpy(to, from, bytes);
    return;
  }
  const std::size_t past_line = reinterpret_cast<std::uintptr_t>(to) % kLine;
  const std::size_t head = std::min(bytes, past_line == 0 ? 0 : kLine - past_line);
  const std::size_t lines = (bytes - head) / kLine * kLine;
  const std::size_t tail = bytes - head - lines;
  std::memcpy(to, from, head);
  stream_loop()(to + head, from + head, lines);
  std::memcpy(to + head + lines, from + head + lines, tail);
  _mm_sfence();  // other threads see these stores before any later store of this thread
}

}  // namespace duet::host
