// cuBLASLt's algorithms are configured by properties (tile, stages, cluster, swizzle, split of K,
// custom option), of which its rankings show few.
#include <algorithm>

#include "gemm/lt/candidates.h"

namespace duet::cuda {
namespace {

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

// Every algorithm that the library has for these types, unconfigured.
std::vector<cublasLtMatmulAlgo_t> all_of(const LtProblem& problem) {
  constexpr int kMostIds = 256;
  const LtTypes& types = problem.types();
  std::vector<int> ids(kMostIds);
  int returned = 0;
  DUET_LT_CHECK(cublasLtMatmulAlgoGetIds(problem.handle(), types.compute, types.scale, types.b,
                                         types.a, types.out, types.out, kMostIds, ids.data(),
                                         &returned));
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; i < returned; ++i) {
    cublasLtMatmulAlgo_t algo{};
    const cublasStatus_t status =
        cublasLtMatmulAlgoInit(problem.handle(), types.compute, types.scale, types.b, types.a,
                               types.out, types.out, ids[static_cast<std::size_t>(i)], &algo);
    if (status == CUBLAS_STATUS_SUCCESS) algorithms.push_back(algo);
  }
  return algorithms;
}

template <typename Value>
void add_with(Candidates& list, cublasLtMatmulAlgo_t algo,
              cublasLtMatmulAlgoConfigAttributes_t attribute, Value value) {
  if (cublasLtMatmulAlgoConfigSetAttribute(&algo, attribute, &value, sizeof value) ==
      CUBLAS_STATUS_SUCCESS) {
    list.add_if_valid(algo);
  }
}

}  // namespace

void Candidates::add_all() {
  for (const cublasLtMatmulAlgo_t& algo : all_of(problem_)) {
    add_if_valid(algo);
    const auto tiles = listed(algo, CUBLASLT_ALGO_CAP_TILE_IDS);
    // Tiles are numbered by increasing size. Problems worth tuning need large tiles.
    const std::size_t first = tiles.size() > kMostTilesOfAll ? tiles.size() - kMostTilesOfAll : 0;
    for (std::size_t i = first; i < tiles.size(); ++i) {
      add_with(*this, algo, CUBLASLT_ALGO_CONFIG_TILE_ID, tiles[i]);
    }
  }
}

void Candidates::add_neighbours(int index) {
  const cublasLtMatmulAlgo_t algo = (*this)[index].algo;  // a copy: adding reallocates the list
  for (std::uint16_t cluster : kClusters) {
    add_with(*this, algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster);
  }
  for (std::uint32_t swizzle = 0; swizzle <= 3; ++swizzle) {
    add_with(*this, algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, swizzle);
  }
  const std::uint32_t options =
      std::min(single(algo, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX), kMostOptions);
  for (std::uint32_t option = 0; option <= options; ++option) {
    add_with(*this, algo, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, option);
  }
  for (std::uint32_t stages : listed(algo, CUBLASLT_ALGO_CAP_STAGES_IDS)) {
    add_with(*this, algo, CUBLASLT_ALGO_CONFIG_STAGES_ID, stages);
  }
  for (std::uint32_t tile : listed(algo, CUBLASLT_ALGO_CAP_TILE_IDS)) {
    add_with(*this, algo, CUBLASLT_ALGO_CONFIG_TILE_ID, tile);
  }
  if (single(algo, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT) == 0) return;
  cublasLtMatmulAlgo_t split = algo;
  const std::uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (cublasLtMatmulAlgoConfigSetAttribute(&split, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                                           &reduction, sizeof reduction) != CUBLAS_STATUS_SUCCESS) {
    return;
  }
  for (std::int32_t parts : {2, 3, 4})
    add_with(*this, split, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, parts);
}

}  // namespace duet::cuda
