// A side of a scenario: a GEMM, a collective, or a copy that all ranks make at once.
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
  std::uint64_t bytes = 0;  // size_bytes() of collective.h
};

// A copy of `bytes` bytes by each rank: to the next rank's device, within the rank's device, or
// from or to pinned host memory.
struct CopySide {
  CopyKind kind = CopyKind::peer;
  std::uint64_t bytes = 0;
  Executor executor = Executor::dma;
};

using OverlapSide = std::variant<GemmProblem, CollectiveSide, CopySide>;

// Parses a side: "gemm:8192x57344x8192:bf16", "all_gather:896M", "copy:host_to_device:1G:dma". The
// defaults are bf16 and dma. Throws UsageError.
OverlapSide parse_side(std::string_view text);

// Parses a GEMM: "8192x57344x8192", "bf16". Throws UsageError.
GemmProblem parse_gemm(std::string_view shape, std::string_view dtype);

// The name in records: "8192x57344x8192 bf16 nn", "all_gather", "copy host_to_device dma".
std::string name(const OverlapSide& side);
// The name followed by the bytes: "copy host_to_device dma 1 GiB".
std::string name_with_bytes(const OverlapSide& side);
std::uint64_t bytes_of(const OverlapSide& side);  // 0 for a GEMM

// The copies of all ranks in the form of CopyWork.
std::vector<Transfer> transfers_of(const CopySide& side, int ranks);

}  // namespace duet
