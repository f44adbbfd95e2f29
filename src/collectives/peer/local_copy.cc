// Thin or not, and when. On 4 x H200 a thin kernel copies 410 GB/s, beside a GEMM 300: more than
// the third of the links' 391 that four ranks need, less than the 391 that two do. 8 blocks of 512
// threads copy 255, take 8 units from the GEMM, and wait where it has taken all
// (bench_copy_beside_gemm).
//
// A GEMM needs all registers of a unit when it starts, and waits for a thin kernel that came first;
// once it runs, it leaves room for one. So it comes behind the first bytes of pushes: what a
// program enqueues beside a collective runs by then. It is a single kernel: of several in a row
// only the first, or two, find room beside the same GEMM.
//
// Other head starts lose, on 2 x H200 beside GEMMs enqueued right behind an all-gather: parts of
// 256 MiB behind 1 to 8 MiB of pushes cost 4 to 9% of the time of both (a GEMM of 11 ms); parts of
// 16 MiB behind 1 MiB gain nothing over at once, behind 4 MiB they cost 2 to 8% (0.2 to 0.7 ms).
// The figures are in docs/results/h200-2/overlap/defer_bytes.txt.
#include "collectives/peer/local_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace duet {
namespace {

// Only words of 16 bytes put enough of them in flight with so few threads.
bool aligned_alike(const Copy& copy) {
  constexpr std::uintptr_t kWord = 16;
  const auto to = reinterpret_cast<std::uintptr_t>(copy.destination.data);
  return (to - reinterpret_cast<std::uintptr_t>(copy.source.data)) % kWord == 0;
}

}  // namespace

LocalCopy local_copy(const std::vector<Copy>& copies, bool pushes, std::size_t defer_bytes) {
  std::size_t bytes = 0;
  for (const Copy& each : copies) bytes += each.source.bytes;
  if (!std::all_of(copies.begin(), copies.end(), aligned_alike)) return LocalCopy::few_blocks;
  if (bytes <= defer_bytes) return LocalCopy::one_warp_per_sm;
  return pushes ? LocalCopy::one_warp_per_sm_deferred : LocalCopy::few_blocks;
}

KernelShape shape_of(LocalCopy way) {
  return way == LocalCopy::few_blocks ? KernelShape{8, 512, false} : KernelShape{0, 0, true};
}

std::string words(LocalCopy way) {
  if (way == LocalCopy::few_blocks)
    return fmt::format("local copy by {} blocks", shape_of(way).grid);
  return way == LocalCopy::one_warp_per_sm ? "local copy by one warp per SM"
                                           : "deferred local copy by one warp per SM";
}

}  // namespace duet
