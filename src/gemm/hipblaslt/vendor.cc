#include "gemm/lt/vendor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "gemm/lt/candidates.h"
#include "gemm/lt/problem.h"

namespace duet::hip {
namespace {

std::string_view architecture_of(const GpuDevice& device) {
  return device.info().details.at("architecture");
}

// gfx940 to gfx942: the fp8 of their matrix units is FNUZ, whose bits mean half of what they mean
// in OCP's, the one of all other devices; and it has no negative zero, which FillKind::normal
// leaves out.
bool has_fnuz(const GpuDevice& device) { return architecture_of(device).substr(0, 5) == "gfx94"; }

ltDataType_t data_type(DType dtype, bool fnuz) {
  switch (dtype) {
    case DType::fp32:
    case DType::tf32:
      return hipblaslt::kFp32;
    case DType::fp16:
      return hipblaslt::kFp16;
    case DType::bf16:
      return hipblaslt::kBf16;
    case DType::int8:
      return hipblaslt::kInt8;
    case DType::int32:
      return hipblaslt::kInt32;
    case DType::fp8_e4m3:
      return fnuz ? hipblaslt::kE4m3Fnuz : hipblaslt::kE4m3;
    case DType::fp8_e5m2:
      return fnuz ? hipblaslt::kE5m2Fnuz : hipblaslt::kE5m2;
  }
  throw Unavailable("hipBLASLt does not multiply this type");
}

ltComputeType_t compute_type(DType dtype) {
  if (dtype == DType::tf32) return hipblaslt::kInTf32;
  return dtype == DType::int8 ? hipblaslt::kInInt32 : hipblaslt::kInFp32;
}

std::int32_t solution_of(const LtAlgorithm& algorithm) {
  std::int32_t index = 0;
  std::memcpy(&index, algorithm.algo.data, sizeof index);
  return index;
}

}  // namespace

std::string describe(const LtAlgorithm& algorithm) {
  return fmt::format("solution {}, {} bytes", solution_of(algorithm), algorithm.workspace_bytes);
}

// The limit of workspace under which a solution was found is no part of it.
bool same(const LtAlgorithm& a, const LtAlgorithm& b) {
  return std::memcmp(a.algo.data, b.algo.data, sizeof a.algo.data) == 0;
}

LtTypes lt_types(const GpuDevice& device, const GemmProblem& problem) {
  static const float zero = 0, one = 1, four = 4;
  static const std::int32_t int_zero = 0, int_one = 1;
  const bool fnuz = problem.dtype == DType::fp8_e4m3 && has_fnuz(device);
  LtTypes types;
  types.a = data_type(type_of_a(problem), fnuz);
  types.b = data_type(problem.dtype, fnuz);
  types.out = data_type(problem.output, fnuz);
  types.compute = compute_type(problem.dtype);
  if (problem.dtype == DType::int8) {
    types.scale = hipblaslt::kInt32;
    types.alpha = &int_one;
    types.beta = problem.accumulate ? &int_one : &int_zero;
  } else {
    types.scale = hipblaslt::kFp32;
    types.alpha = fnuz ? &four : &one;  // FNUZ's product is a quarter of OCP's
    types.beta = problem.accumulate ? &one : &zero;
  }
  return types;
}

// The library has no preference of alignment.
void prefer_always(ltMatmulPreference_t, int) {}

// Sums are in fp32 on all of AMD's matrix units.
void allow_fast_sums(ltMatmulDesc_t) {}

std::string lt_version(ltHandle_t handle) {
  int version = 0;
  DUET_LT_CHECK(hipblaslt::library().get_version(handle, &version));
  return fmt::format("hipBLASLt {}", version);
}

// The library's check is a C++ function, whose binary interface changes; its ranking has all that
// can run.
bool LtProblem::check(LtAlgorithm& algorithm) const {
  const std::vector<LtAlgorithm> all = heuristics(kMostWorkspace, kRanking);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const LtAlgorithm& other) { return same(other, algorithm); });
  if (found == all.end()) return false;
  algorithm = *found;
  return true;
}

void Candidates::add_all() {}
void Candidates::add_neighbours(int) {}

}  // namespace duet::hip
