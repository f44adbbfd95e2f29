// The names under which gemm/lt uses hipBLASLt.
#pragma once

#include "gemm/hipblaslt/library.h"

#define DUET_LT "hipblaslt"
#define DUET_LT_LIBRARY "hipBLASLt"

#define throwLtError ::duet::hipblaslt::throw_error
#define ltStatus_t hipblaslt::Status
#define ltSuccess hipblaslt::kSuccess
#define ltInvalidValue hipblaslt::kInvalidValue
#define ltNotSupported hipblaslt::kNotSupported

#define ltComputeType_t hipblaslt::ComputeType
#define ltDataType_t hipblaslt::DataType
#define ltHandle_t hipblaslt::Handle
#define ltMatmulAlgo_t hipblaslt::Algorithm
#define ltMatmulDescAttributes_t hipblaslt::DescAttribute
#define ltMatmulDesc_t hipblaslt::MatmulDesc
#define ltMatmulHeuristicResult_t hipblaslt::HeuristicResult
#define ltMatmulPreferenceAttributes_t hipblaslt::PreferenceAttribute
#define ltMatmulPreference_t hipblaslt::Preference
#define ltMatrixLayout_t hipblaslt::MatrixLayout

#define ltCreate hipblaslt::library().create
#define ltDestroy hipblaslt::destroy
#define ltMatmul hipblaslt::library().matmul
#define ltMatmulAlgoGetHeuristic hipblaslt::library().heuristic
#define ltMatmulDescCreate hipblaslt::library().desc_create
#define ltMatmulDescDestroy hipblaslt::desc_destroy
#define ltMatmulDescSetAttribute hipblaslt::library().desc_set
#define ltMatmulPreferenceCreate hipblaslt::library().preference_create
#define ltMatmulPreferenceDestroy hipblaslt::preference_destroy
#define ltMatmulPreferenceSetAttribute hipblaslt::library().preference_set
#define ltMatrixLayoutCreate hipblaslt::library().layout_create
#define ltMatrixLayoutDestroy hipblaslt::layout_destroy

#define ltOpN hipblaslt::kNone
#define ltOpT hipblaslt::kTranspose
#define ltEpilogueGeluAux hipblaslt::kGeluAux
#define ltEpilogueDgelu hipblaslt::kDgelu
#define ltDescTransA hipblaslt::kTransA
#define ltDescTransB hipblaslt::kTransB
#define ltDescEpilogue hipblaslt::kEpilogue
#define ltDescEpilogueAux hipblaslt::kEpilogueAux
#define ltDescEpilogueAuxLd hipblaslt::kEpilogueAuxLd
#define ltDescScaleA hipblaslt::kScaleA
#define ltDescScaleB hipblaslt::kScaleB
#define ltPreferMaxWorkspace hipblaslt::kMaxWorkspace

namespace duet::hip {

constexpr std::uint64_t kUsualWorkspace = 76ull << 20;  // PyTorch's for hipBLASLt
// Algorithms that tuning takes of each of the library's rankings. Behind those that it ranks the
// library returns all others that can run the problem.
constexpr int kRanking = 1024;

}  // namespace duet::hip
