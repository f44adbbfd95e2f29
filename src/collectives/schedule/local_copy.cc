// Why one warp per SM. On 4 x H200 such a kernel copies 410 GB/s, beside a GEMM 300. Four ranks
// need a third of the links' 391 GB/s, two ranks all of it. 8 blocks of 512 threads copy 255 GB/s,
// take 8 compute units from the GEMM, and wait where it has taken all (bench_copy_beside_gemm).
//
// Why it is deferred. A GEMM needs all registers of an SM when it starts, and waits for a copy that
// runs there already; once the GEMM runs, it leaves room for one warp. After the first pushes,
// work that a program enqueues beside the collective is already running. The copy is one kernel: of
// several in a row only the first one or two find room beside the same GEMM.
//
// Why after 16 MiB. On 2 x H200, beside GEMMs enqueued right after an all_gather: parts of 256
// MiB after 1 to 8 MiB of pushes cost 4 to 9% of the time of both (a GEMM of 11 ms). Parts of 16
// MiB after 1 MiB gain nothing over at once, after 4 MiB they cost 2 to 8% (0.2 to 0.7 ms).
// Figures: docs/results/h200-2/overlap/head_start.txt.
#include "collectives/schedule/local_copy.h"

#include <fmt/format.h>

#include <cstdint>

#include "collectives/partition.h"

namespace duet {

bool aligned_alike(const Span& target, const Span& source) {
  constexpr std::uintptr_t kWord = 16;
  const auto to = reinterpret_cast<std::uintptr_t>(target.data);
  return (to - reinterpret_cast<std::uintptr_t>(source.data)) % kWord == 0;
}

LocalCopyMethod choose_local_copy(std::uint64_t bytes, bool aligned, bool pushes,
                                  std::uint64_t defer_bytes) {
  if (!aligned) return LocalCopyMethod::few_blocks;
  if (bytes <= defer_bytes) return LocalCopyMethod::one_warp_per_sm;
  // Without pushes there is nothing to start it after, and started at once a large copy by one warp
  // per SM would delay a GEMM that is enqueued next.
  return pushes ? LocalCopyMethod::one_warp_per_sm_deferred : LocalCopyMethod::few_blocks;
}

bool own_part_aligned(const Collective& collective, int rank, int ranks,
                      const CollectiveBuffers& buffers) {
  if (reduces(collective.kind)) {
    const ByteRange own = reduced_part(collective, rank, ranks);
    const std::uint64_t target = reduced_target(collective, rank, ranks);
    return aligned_alike(buffers.recv.slice(target, own.bytes),
                         buffers.send.slice(own.begin, own.bytes));
  }
  for (const Move& move : moves_from(collective, rank, ranks)) {
    if (move.to == rank && !aligned_alike(buffers.recv.slice(move.to_offset, move.bytes),
                                          buffers.send.slice(move.from_offset, move.bytes)))
      return false;
  }
  return true;
}

KernelShape shape_of(LocalCopyMethod method) {
  return method == LocalCopyMethod::few_blocks ? KernelShape{8, 512, false}
                                               : KernelShape{0, 0, true};
}

std::string text_of(LocalCopyMethod method) {
  if (method == LocalCopyMethod::few_blocks)
    return fmt::format("local copy by {} blocks", shape_of(method).grid);
  return method == LocalCopyMethod::one_warp_per_sm ? "local copy by one warp per SM"
                                                    : "deferred local copy by one warp per SM";
}

}  // namespace duet
