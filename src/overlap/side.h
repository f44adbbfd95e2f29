// What stands on a side of a scenario: a GEMM, a collective, or a copy by every rank at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "collectives/collective.h"
#include "copy/transfer.h"
#include "gemm/problem.h"

namespace duet {

struct CollectiveSide {
  CollectiveKind kind = CollectiveKind::all_gather;
  std::uint64_t bytes = 0;  // S of docs/measuring.md
};

// Of so many bytes by each rank: to the next one, within its device, or from or to pinned memory of
// the host.
struct CopySide {
  CopyKind kind = CopyKind::peer;
  std::uint64_t bytes = 0;
  Executor executor = Executor::dma;
};

using OverlapSide = std::variant<GemmProblem, CollectiveSide, CopySide>;

// "gemm:8192x57344x8192:bf16", "all_gather:896M", "copy:host_to_device:1G:dma"; bf16 and dma where
// nothing is said. Throws UsageError.
OverlapSide parse_side(std::string_view text);

// One GEMM: "8192x57344x8192", "bf16". Throws UsageError.
GemmProblem parse_gemm(std::string_view shape, std::string_view dtype);

// As records have them: "8192x57344x8192 bf16 nn", "all_gather", "copy host_to_device dma".
std::string name(const OverlapSide& side);
// The same with its bytes: "copy host_to_device dma 1 GiB".
std::string name_with_bytes(const OverlapSide& side);
std::uint64_t bytes_of(const OverlapSide& side);  // 0: a GEMM

// A list of copies as CopyWork takes it.
std::vector<Transfer> transfers_of(const CopySide& side, int ranks);

}  // namespace duet
