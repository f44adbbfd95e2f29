#include "overlap/side.h"

#include <fmt/format.h>

#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "gemm/shapes.h"

namespace duet {
namespace {

constexpr const char* kExpected =
    "expected gemm:MxNxK, gemm:MxNxK:DTYPE, COLLECTIVE:BYTES as all_gather:896M, copy:KIND:BYTES "
    "or "
    "copy:KIND:BYTES:EXECUTOR";

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words{""};
  for (const char c : text) {
    if (c == ':') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

MemoryKind memory(CopyKind kind, CopyKind host) {
  return kind == host ? MemoryKind::pinned : MemoryKind::device;
}

}  // namespace

GemmProblem parse_gemm(std::string_view shape, std::string_view dtype) {
  const std::vector<GemmShape> shapes = parse_shapes(shape);
  if (shapes.size() != 1) {
    throw UsageError(fmt::format("gemm '{}': expected one shape MxNxK", shape));
  }
  GemmProblem problem{shapes[0].m, shapes[0].n, shapes[0].k, parse_dtype(dtype)};
  problem.output = default_output(problem.dtype);
  return problem;
}

OverlapSide parse_side(std::string_view text) {
  const std::vector<std::string> words = words_of(text);
  const std::size_t count = words.size();
  if (words[0] == "gemm" && (count == 2 || count == 3)) {
    return parse_gemm(words[1], count == 3 ? words[2] : "bf16");
  }
  if (words[0] == "copy" && (count == 3 || count == 4)) {
    return CopySide{parse_copy_kind(words[1]), parse_bytes(words[2]),
                    count == 4 ? parse_executor(words[3]) : Executor::dma};
  }
  if (words[0] == "gemm" || words[0] == "copy" || count != 2) {
    throw UsageError(fmt::format("'{}': {}", text, kExpected));
  }
  return CollectiveSide{parse_collective(words[0]), parse_bytes(words[1])};
}

std::string name(const OverlapSide& side) {
  if (const auto* gemm = std::get_if<GemmProblem>(&side)) return name(*gemm);
  if (const auto* copy = std::get_if<CopySide>(&side)) {
    return fmt::format("copy {} {}", name(copy->kind), name(copy->executor));
  }
  return std::string(name(std::get<CollectiveSide>(side).kind));
}

std::string name_with_bytes(const OverlapSide& side) {
  const std::uint64_t bytes = bytes_of(side);
  return bytes > 0 ? fmt::format("{} {}", name(side), format_bytes(bytes)) : name(side);
}

std::uint64_t bytes_of(const OverlapSide& side) {
  if (const auto* copy = std::get_if<CopySide>(&side)) return copy->bytes;
  const auto* collective = std::get_if<CollectiveSide>(&side);
  return collective != nullptr ? collective->bytes : 0;
}

std::vector<Transfer> transfers_of(const CopySide& side, int ranks) {
  std::vector<Transfer> all;
  for (int rank = 0; rank < ranks; ++rank) {
    const Endpoint from{rank, memory(side.kind, CopyKind::host_to_device)};
    const Endpoint to{side.kind == CopyKind::peer ? (rank + 1) % ranks : rank,
                      memory(side.kind, CopyKind::device_to_host)};
    all.push_back({from, to, rank, side.bytes, side.executor, {}});
  }
  return all;
}

}  // namespace duet
