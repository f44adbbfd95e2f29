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
  // Likewise, and Y is added to a residual and normalised (SumNorm, collectives/collective.h).
  gemm_reduce_norm,
  // Without a multiplication: each rank has partial sums of Y.
  reduce_norm,
  // The gradient of a weight whose ranks are data-parallel, Y = X^T W with X (K, M) and W (K, N):
  // each rank has K / ranks rows of X, the gradients of a linear's outputs for its tokens, and of
  // W, their inputs. Its sums of Y are summed over ranks, and each rank gets M / ranks rows.
  wgrad_scatter,
};
bool multiplies(LayerKind kind);
bool scatters(LayerKind kind);
bool normalises(LayerKind kind);
std::string_view name(LayerKind kind);
std::vector<LayerKind> all_layer_kinds();
LayerKind parse_layer_kind(std::string_view text);  // throws UsageError

struct LayerOperation {
  LayerKind kind = LayerKind::gather_gemm;
  std::string part;                  // "llama70b gate+up"; of a shape: "MxNxK"
  std::int64_t m = 0, n = 0, k = 0;  // of all ranks together; k is 0 without a multiplication
  DType dtype = DType::bf16;         // of X and W; Y has default_output() of it
};

// Operations one behind the other.
struct Layer {
  std::string kind;  // the name of its one operation's kind; kMlp, kAttention
  std::string part;  // that of its one operation; "llama70b"
  std::vector<LayerOperation> operations;
  // The second operation multiplies silu(gate) * up of the first one's result, of which the first
  // half of a rank's columns is gate, the other one up.
  bool activates = false;
};
inline constexpr const char* kMlp = "mlp";              // gate+up gathered for, down scattered
inline constexpr const char* kAttention = "attention";  // qkv gathered for, o scattered

std::vector<std::string> layer_kinds();  // all values of Layer::kind

// The layers of a model whose kind is among `kinds`, for so many tokens: qkv and gate+up are
// gathered for, o and down are summed, rows of the model's width are reduced and normalised; of
// weights' gradients, all four. Attention itself is left out. Throws UsageError for an unknown
// model or kind.
std::vector<Layer> layers_of(std::string_view model, std::int64_t tokens,
                             const std::vector<std::string>& kinds, DType dtype);
// The layer of a shape: an mlp has gate and up of N / 2 columns each. Throws UsageError for
// attention, which has no shape of its own, and for reduce-norm with another K than 1.
Layer layer_of(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& kind,
               DType dtype);
std::vector<std::string> layer_models();

// Throws UsageError unless ranks divide the operations (rows but of what is reduced, N or K), rows
// of their matrices are multiples of 16 bytes, which GEMMs need of each range, and rows that are
// normalised can be.
void check(const Layer& layer, int ranks);

// What a rank multiplies, all rows together.
GemmProblem problem_of(const LayerOperation& operation, int ranks);
// The collective, whose rows the ranks multiply.
Collective collective_of(const LayerOperation& operation, int ranks, int ranges, RowSums sums,
                         int streams = 1, bool joined = false);

}  // namespace duet
