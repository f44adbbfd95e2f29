// Thin or not, and when. On 4 x H200 a thin kernel copies 410 GB/s, beside a GEMM 300, and a third
// of the links' 391 is enough; 8 blocks of 512 threads copy 255 and take 8 units from the GEMM.
//
// A GEMM needs all registers of a unit when it starts, and waits for a thin kernel that came first;
// once it runs, it leaves room for one. So it comes behind the first bytes of a push: what a
// program enqueues beside a collective runs by then. It is a single kernel: of several in a row
// only the first, or two, find room beside the same GEMM.
#include "collectives/peer/own_part.h"

#include <fmt/format.h>

namespace duet {
namespace {

// It must not take longer than the links: 4 blocks were enough beside three transfers of the same
// size on H200, and 8 leave room for one.
constexpr KernelShape kFewBlocks{8, 512, false};
constexpr KernelShape kThin{0, 0, true};

}  // namespace

OwnPart own_part(std::uint64_t bytes, std::size_t pushes) {
  if (bytes <= OwnPart::kHeadStart) return {true, false};
  return pushes == 0 ? OwnPart{false, false} : OwnPart{true, true};
}

Copy OwnPart::copy(const Span& target, const Span& source) const {
  return {target, source, Executor::kernel, thin ? kThin : kFewBlocks};
}

std::string OwnPart::words() const {
  if (!thin) return fmt::format("own part by {} blocks", kFewBlocks.grid);
  return behind_a_push ? "own part by a warp a unit, a little later" : "own part by a warp a unit";
}

}  // namespace duet
