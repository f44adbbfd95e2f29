// hipBLASLt, opened at run time: the part of its binary interface that Duet uses, declared here
// after AMD's hipBLASLt API reference and its public headers. Building therefore needs no header of
// it, and one build runs with ROCm 6.2 to 7.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/gpu/vendor.h"

namespace duet::hipblaslt {

using Handle = void*;
using MatmulDesc = struct MatmulDescOpaque*;
using MatrixLayout = struct MatrixLayoutOpaque*;
using Preference = struct PreferenceOpaque*;

// hipblasStatus_t
using Status = int;
constexpr Status kSuccess = 0, kAllocFailed = 2, kInvalidValue = 3, kNotSupported = 7,
                 kArchMismatch = 8;

// hipDataType. FNUZ is the fp8 of gfx942, the other that of gfx950 and later.
using DataType = int;
constexpr DataType kFp32 = 0, kFp16 = 2, kInt8 = 3, kInt32 = 10, kBf16 = 14, kE4m3 = 28, kE5m2 = 29,
                   kE4m3Fnuz = 1000, kE5m2Fnuz = 1001;

// hipblasComputeType_t
using ComputeType = int;
constexpr ComputeType kInFp32 = 2, kInTf32 = 6, kInInt32 = 9;

// hipblasOperation_t
using Operation = std::int32_t;
constexpr Operation kNone = 111, kTranspose = 112;

// hipblasLtEpilogue_t
using EpilogueKind = std::uint32_t;
constexpr EpilogueKind kGeluAux = 160, kDgelu = 192;

// hipblasLtMatmulDescAttributes_t
using DescAttribute = int;
constexpr DescAttribute kTransA = 0, kTransB = 1, kEpilogue = 2, kScaleA = 5, kScaleB = 6,
                        kEpilogueAux = 10, kEpilogueAuxLd = 11;

// hipblasLtMatmulPreferenceAttributes_t
using PreferenceAttribute = int;
constexpr PreferenceAttribute kMaxWorkspace = 1;

// hipblasLtMatmulAlgo_t. Its first four bytes are the number of the library's solution.
struct Algorithm {
  std::uint8_t data[16] = {};
  std::size_t max_workspace_bytes = 0;
};
static_assert(sizeof(Algorithm) == 24);

// hipblasLtMatmulHeuristicResult_t
struct HeuristicResult {
  Algorithm algo;
  std::size_t workspaceSize = 0;
  Status state = kSuccess;
  float waves = 1;
  int reserved[4] = {};
};
static_assert(sizeof(HeuristicResult) == 56);

struct Library {
  Status (*get_version)(Handle handle, int* version) = nullptr;
  Status (*create)(Handle* handle) = nullptr;  // for the current device
  Status (*destroy)(Handle handle) = nullptr;
  Status (*layout_create)(MatrixLayout* layout, DataType type, std::uint64_t rows,
                          std::uint64_t columns, std::int64_t leading) = nullptr;
  Status (*layout_destroy)(MatrixLayout layout) = nullptr;
  Status (*desc_create)(MatmulDesc* desc, ComputeType compute, DataType scale) = nullptr;
  Status (*desc_destroy)(MatmulDesc desc) = nullptr;
  Status (*desc_set)(MatmulDesc desc, DescAttribute attribute, const void* value,
                     std::size_t bytes) = nullptr;
  Status (*preference_create)(Preference* preference) = nullptr;
  Status (*preference_destroy)(Preference preference) = nullptr;
  Status (*preference_set)(Preference preference, PreferenceAttribute attribute, const void* value,
                           std::size_t bytes) = nullptr;
  Status (*heuristic)(Handle handle, MatmulDesc desc, MatrixLayout a, MatrixLayout b,
                      MatrixLayout c, MatrixLayout d, Preference preference, int count,
                      HeuristicResult* results, int* returned) = nullptr;
  // Column-major D = alpha op(A) op(B) + beta C.
  Status (*matmul)(Handle handle, MatmulDesc desc, const void* alpha, const void* a,
                   MatrixLayout a_layout, const void* b, MatrixLayout b_layout, const void* beta,
                   const void* c, MatrixLayout c_layout, void* d, MatrixLayout d_layout,
                   const Algorithm* algorithm, void* workspace, std::size_t workspace_bytes,
                   hipStream_t stream) = nullptr;
};

// Opens the library once. Throws Unavailable with the loader's reason.
const Library& library();

inline Status destroy(Handle handle) { return library().destroy(handle); }
inline Status desc_destroy(MatmulDesc desc) { return library().desc_destroy(desc); }
inline Status layout_destroy(MatrixLayout layout) { return library().layout_destroy(layout); }
inline Status preference_destroy(Preference preference) {
  return library().preference_destroy(preference);
}

// Throws OutOfMemory, Unavailable or Error, by the status.
[[noreturn]] void throw_error(Status status, const char* call, const char* place);

}  // namespace duet::hipblaslt
