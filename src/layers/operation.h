// The operations of tensor-parallel layers in which a multiplication and a collective need each
// other: what they multiply on each of several ranks, and the collective between.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/collective.h"
#include "gemm/problem.h"

namespace duet {

// With X (M, K), W (N, K) and Y = X W^T (M, N):
enum class LayerKind {
  // Each rank has M / ranks rows of X and N / ranks rows of W: gathers X, and gets M x (N / ranks)
  // of Y.
  gather_gemm,
  // Each rank has K / ranks columns of X and of W, and so partial sums of all of Y. They are summed
  // over ranks, and each rank gets M / ranks rows.
  gemm_scatter,
  gemm_reduce,  // likewise, and each rank gets all of Y
};
std::string_view name(LayerKind kind);
std::vector<LayerKind> all_layer_kinds();
LayerKind parse_layer_kind(std::string_view text);  // throws UsageError

struct LayerOperation {
  LayerKind kind = LayerKind::gather_gemm;
  std::string part;                  // "llama70b gate+up"; of a shape: "MxNxK"
  std::int64_t m = 0, n = 0, k = 0;  // of all ranks together
  DType dtype = DType::bf16;         // of X and W; Y has default_output() of it
};

// The parts of a model's layer whose kind is among `kinds`, for so many tokens: qkv and gate+up are
// gathered for, o and down are summed. Throws UsageError for an unknown model.
std::vector<LayerOperation> operations_of(std::string_view model, std::int64_t tokens,
                                          const std::vector<LayerKind>& kinds);
std::vector<std::string> layer_models();

// Throws UsageError unless ranks divide the operation: rows between them (but of gemm_reduce), N or
// K.
void check(const LayerOperation& operation, int ranks);

// What a rank multiplies, all rows together.
GemmProblem problem_of(const LayerOperation& operation, int ranks);
// The collective, whose rows the ranks multiply.
Collective collective_of(const LayerOperation& operation, int ranks, int ranges, RowSums sums);

}  // namespace duet
