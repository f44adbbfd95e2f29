// The lists are generous, because a configuration that the library refuses costs only microseconds.
#include "gemm/cublas/candidates.h"

#include <algorithm>

namespace duet::cuda {
namespace {

constexpr int kRanking = 128;
constexpr std::uint32_t kMostOptions = 32;
constexpr int kMostTilesOfAll = 16;

// The values of a list capability.
std::vector<std::uint32_t> listed(const cublasLtMatmulAlgo_t& algo,
                                  cublasLtMatmulAlgoCapAttributes_t capability) {
  std::size_t bytes = 0;
  std::vector<std::uint32_t> values;
  if (cublasLtMatmulAlgoCapGetAttribute(&algo, capability, nullptr, 0, &bytes) !=
      CUBLAS_STATUS_SUCCESS) {
    return values;
  }
  values.resize(bytes / sizeof(std::uint32_t));
  if (values.empty() || cublasLtMatmulAlgoCapGetAttribute(&algo, capability, values.data(), bytes,
                                                          &bytes) != CUBLAS_STATUS_SUCCESS) {
    values.clear();
  }
  return values;
}

// The value of a capability that is one number; 0 if the library does not report it.
std::uint32_t single(const cublasLtMatmulAlgo_t& algo,
                     cublasLtMatmulAlgoCapAttributes_t capability) {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoCapGetAttribute(&algo, capability, &value, sizeof value, &bytes);
  return status == CUBLAS_STATUS_SUCCESS ? value : 0;
}

// Cluster shapes. Blocks of larger clusters share more data but fit on fewer SMs.
constexpr std::uint16_t kClusters[] = {
    CUBLASLT_CLUSTER_SHAPE_AUTO,  CUBLASLT_CLUSTER_SHAPE_1x1x1, CUBLASLT_CLUSTER_SHAPE_2x1x1,
    CUBLASLT_CLUSTER_SHAPE_1x2x1, CUBLASLT_CLUSTER_SHAPE_2x2x1, CUBLASLT_CLUSTER_SHAPE_4x1x1,
    CUBLASLT_CLUSTER_SHAPE_1x4x1, CUBLASLT_CLUSTER_SHAPE_4x2x1, CUBLASLT_CLUSTER_SHAPE_2x4x1};

}  // namespace

void Candidates::add(const LtAlgorithm& algorithm) {
  if (algorithm.workspace_bytes > kMostWorkspace) return;
  const bool known = std::any_of(list_.begin(), list_.end(),
                                 [&](const LtAlgorithm& other) { return same(algorithm, other); });
  if (!known) list_.push_back(algorithm);
}

void Candidates::add_if_valid(const cublasLtMatmulAlgo_t& algo) {
  LtAlgorithm algorithm{algo, 0};
  if (problem_.check(algorithm)) add(algorithm);
}

template <typename Value>
void Candidates::add_with(cublasLtMatmulAlgo_t algo, cublasLtMatmulAlgoConfigAttributes_t attribute,
                          Value value) {
  if (cublasLtMatmulAlgoConfigSetAttribute(&algo, attribute, &value, sizeof value) ==
      CUBLAS_STATUS_SUCCESS) {
    add_if_valid(algo);
  }
}

void Candidates::add_heuristics() {
  constexpr std::uint64_t kWorkspaces[] = {32ull << 20, 0, kMostWorkspace};
  for (std::uint64_t workspace : kWorkspaces) {
    for (const LtAlgorithm& algorithm : problem_.heuristics(workspace, kRanking)) add(algorithm);
  }
}

void Candidates::add_all() {
  for (const cublasLtMatmulAlgo_t& algo : problem_.all()) {
    add_if_valid(algo);
    const auto tiles = listed(algo, CUBLASLT_ALGO_CAP_TILE_IDS);
    // Tiles are numbered by increasing size. Problems worth tuning need large tiles.
    const std::size_t first = tiles.size() > kMostTilesOfAll ? tiles.size() - kMostTilesOfAll : 0;
    for (std::size_t i = first; i < tiles.size(); ++i) {
      add_with(algo, CUBLASLT_ALGO_CONFIG_TILE_ID, tiles[i]);
    }
  }
}

void Candidates::add_neighbours(int index) {
  const cublasLtMatmulAlgo_t algo = (*this)[index].algo;  // a copy: adding reallocates the list
  for (std::uint16_t cluster : kClusters) {
    add_with(algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster);
  }
  for (std::uint32_t swizzle = 0; swizzle <= 3; ++swizzle) {
    add_with(algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, swizzle);
  }
  const std::uint32_t options =
      std::min(single(algo, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX), kMostOptions);
  for (std::uint32_t option = 0; option <= options; ++option) {
    add_with(algo, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, option);
  }
  for (std::uint32_t stages : listed(algo, CUBLASLT_ALGO_CAP_STAGES_IDS)) {
    add_with(algo, CUBLASLT_ALGO_CONFIG_STAGES_ID, stages);
  }
  for (std::uint32_t tile : listed(algo, CUBLASLT_ALGO_CAP_TILE_IDS)) {
    add_with(algo, CUBLASLT_ALGO_CONFIG_TILE_ID, tile);
  }
  if (single(algo, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT) == 0) return;
  cublasLtMatmulAlgo_t split = algo;
  const std::uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (cublasLtMatmulAlgoConfigSetAttribute(&split, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                                           &reduction, sizeof reduction) != CUBLAS_STATUS_SUCCESS) {
    return;
  }
  for (std::int32_t parts : {2, 3, 4}) add_with(split, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, parts);
}

}  // namespace duet::cuda
