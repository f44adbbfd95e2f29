// Blocking, threads and the write-out of the CPU GEMM. The loops follow Goto and van de Geijn,
// Anatomy of high-performance matrix multiplication (2008): a block of A stays in L2, a sliver of
// B in L1; here a tile of C is finished over all K, so that bf16 output needs no fp32 copy of C.
#include "gemm/cpu/blocked_gemm.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "gemm/cpu/micro_kernel.h"
#include "gemm/cpu/pack.h"

namespace duet {
namespace {

constexpr std::int64_t kBlockWords = 192;   // of k: slivers of B and A take 34.5 KiB of L1
constexpr std::int64_t kMacroRows = 16;     // slivers of A: a block takes 168 KiB of L2
constexpr std::int64_t kMacroColumns = 24;  // slivers of B: a tile's sums take 672 KiB of L2

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Sizes in words and slivers, and where things lie in the workspace (in 32-bit words).
struct Blocking {
  explicit Blocking(const GemmProblem& p)
      : words(ceil_div(p.k, word_elements(p.dtype))),
        row_slivers(ceil_div(p.m, kTileRows)),
        column_slivers(ceil_div(p.n, kTileColumns)),
        row_step(ceil_div(row_slivers, ceil_div(row_slivers, kMacroRows))),
        column_step(ceil_div(column_slivers, ceil_div(column_slivers, kMacroColumns))) {}

  std::int64_t b_offset() const { return (row_slivers * kTileRows * words + 15) / 16 * 16; }
  std::int64_t sums_offset() const {
    return (b_offset() + column_slivers * kTileColumns * words + 15) / 16 * 16;
  }
  std::int64_t sums_words() const { return row_step * column_step * kTileRows * kTileColumns; }

  std::int64_t words, row_slivers, column_slivers, row_step, column_step;
};

// Slivers of one operand lie block of k by block of k: sliver s of the block at `word` starts at
// (slivers * word + s * block length) * width. A thread packs a sliver through all of k, so that
// its lines are read as long streams.
void pack_operand(const PackSource& source, int width, std::int64_t words, std::uint32_t* out) {
  const std::int64_t slivers = ceil_div(source.lines, width);
#pragma omp for schedule(dynamic, 1)
  for (std::int64_t sliver = 0; sliver < slivers; ++sliver) {
    for (std::int64_t word = 0; word < words; word += kBlockWords) {
      const std::int64_t length = std::min(kBlockWords, words - word);
      pack(source, {sliver * width, width, word, length},
           out + (slivers * word + sliver * length) * width);
    }
  }
}

std::uint16_t to_bf16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

__attribute__((target("avx512f,avx512bw,avx512vl"))) void write_row(const float* from, void* to,
                                                                    std::int64_t n, bool bf16) {
  if (!bf16) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * 4);
    return;
  }
  auto* out = static_cast<std::uint16_t*>(to);
  for (std::int64_t j = 0; j < n; ++j) out[j] = to_bf16(from[j]);
}

// Packed operands, and a thread's own sums.
struct Operands {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
  float* sums = nullptr;
};

struct Tile {
  std::int64_t row = 0, rows = 0, column = 0, columns = 0;  // in slivers
};

void write_tile(const GemmProblem& p, const Tile& tile, const float* sums, void* c) {
  const bool bf16 = p.output == DType::bf16;
  const auto element = static_cast<std::int64_t>(size_of(p.output));
  for (std::int64_t i = tile.row; i < tile.row + tile.rows; ++i) {
    for (int r = 0; r < kTileRows && i * kTileRows + r < p.m; ++r) {
      char* row = static_cast<char*>(c) + (i * kTileRows + r) * p.n * element;
      for (std::int64_t j = tile.column; j < tile.column + tile.columns; ++j) {
        const std::int64_t first = j * kTileColumns;
        const float* from =
            sums + ((j - tile.column) * tile.rows + i - tile.row) * kTileRows * kTileColumns +
            r * kTileColumns;
        write_row(from, row + first * element, std::min<std::int64_t>(kTileColumns, p.n - first),
                  bf16);
      }
    }
  }
}

const char* address(const std::uint32_t* words) { return reinterpret_cast<const char*>(words); }

// What one call brings in for the next must cover what the next reads: 8 bytes a word of B over
// 16 calls, 4 bytes a word of A over 256.
static_assert(8 * kMacroRows == 4 * kTileColumns, "a sliver of B in a row of calls");
static_assert(4 * kMacroRows * kMacroColumns >= 4 * kTileRows * kMacroRows, "a block of A in all");

// Without the prefetch, bringing slivers in from L3 and memory costs a tenth of the rate (Zen 5).
void multiply_tile(const Blocking& blocking, const Tile& tile, MicroKernel kernel,
                   const Operands& packed) {
  for (std::int64_t word = 0; word < blocking.words; word += kBlockWords) {
    const std::int64_t length = std::min(kBlockWords, blocking.words - word);
    const std::uint32_t* a =
        packed.a + (blocking.row_slivers * word + tile.row * length) * kTileRows;
    const std::uint32_t* b =
        packed.b + (blocking.column_slivers * word + tile.column * length) * kTileColumns;
    const std::uint32_t* next_a = a + (blocking.row_slivers * length) * kTileRows;
    TileArguments call;
    call.words = length;
    call.add = word > 0;
    for (std::int64_t j = 0; j < tile.columns; ++j) {
      call.b = b + j * length * kTileColumns;
      for (std::int64_t i = 0; i < tile.rows; ++i) {
        call.a = a + i * length * kTileRows;
        call.c = packed.sums + (j * tile.rows + i) * kTileRows * kTileColumns;
        call.next_a = address(next_a + (j * tile.rows + i) * length);
        call.next_b = address(call.b + (kTileColumns + 2 * i) * length);
        kernel(call);
      }
    }
  }
}

}  // namespace

bool blocked_supported(const GemmProblem& problem) {
  return problem.output == problem.dtype && micro_kernel(problem.dtype) != nullptr;
}

std::uint64_t blocked_workspace_bytes(const GemmProblem& problem, int threads) {
  const Blocking blocking(problem);
  return static_cast<std::uint64_t>(blocking.sums_offset() + threads * blocking.sums_words()) * 4;
}

void blocked_gemm(const GemmProblem& p, const BlockedOperands& operands, int threads) {
  const Blocking blocking(p);
  auto* a = static_cast<std::uint32_t*>(operands.workspace);
  auto* b = a + blocking.b_offset();
  auto* sums = reinterpret_cast<float*>(a + blocking.sums_offset());
  const MicroKernel kernel = micro_kernel(p.dtype);
  const std::int64_t tile_row_count = ceil_div(blocking.row_slivers, blocking.row_step);
  const std::int64_t tile_count =
      tile_row_count * ceil_div(blocking.column_slivers, blocking.column_step);

#pragma omp parallel num_threads(threads)
  {
    pack_operand({operands.a, p.dtype, p.m, p.k, true}, kTileRows, blocking.words, a);
    pack_operand({operands.b, p.dtype, p.n, p.k, p.layout == Layout::nt}, kTileColumns,
                 blocking.words, b);
    float* own = sums + omp_get_thread_num() * blocking.sums_words();
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t t = 0; t < tile_count; ++t) {
      Tile tile;
      tile.row = t % tile_row_count * blocking.row_step;
      tile.rows = std::min(blocking.row_step, blocking.row_slivers - tile.row);
      tile.column = t / tile_row_count * blocking.column_step;
      tile.columns = std::min(blocking.column_step, blocking.column_slivers - tile.column);
      multiply_tile(blocking, tile, kernel, {a, b, own});
      write_tile(p, tile, own, operands.c);
    }
  }
}

}  // namespace duet
