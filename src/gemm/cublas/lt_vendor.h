// The names under which gemm/lt uses cuBLASLt.
#pragma once

#include <cublasLt.h>

#include "gemm/cublas/check.h"

#define DUET_LT "cublaslt"
#define DUET_LT_LIBRARY "cuBLASLt"

#define throwLtError ::duet::cuda::throw_cublas_error
#define ltStatus_t cublasStatus_t
#define ltSuccess CUBLAS_STATUS_SUCCESS
#define ltInvalidValue CUBLAS_STATUS_INVALID_VALUE
#define ltNotSupported CUBLAS_STATUS_NOT_SUPPORTED

#define ltComputeType_t cublasComputeType_t
#define ltDataType_t cudaDataType_t
#define ltHandle_t cublasLtHandle_t
#define ltMatmulAlgo_t cublasLtMatmulAlgo_t
#define ltMatmulDescAttributes_t cublasLtMatmulDescAttributes_t
#define ltMatmulDesc_t cublasLtMatmulDesc_t
#define ltMatmulHeuristicResult_t cublasLtMatmulHeuristicResult_t
#define ltMatmulPreferenceAttributes_t cublasLtMatmulPreferenceAttributes_t
#define ltMatmulPreference_t cublasLtMatmulPreference_t
#define ltMatrixLayout_t cublasLtMatrixLayout_t

#define ltCreate cublasLtCreate
#define ltDestroy cublasLtDestroy
#define ltMatmul cublasLtMatmul
#define ltMatmulAlgoGetHeuristic cublasLtMatmulAlgoGetHeuristic
#define ltMatmulDescCreate cublasLtMatmulDescCreate
#define ltMatmulDescDestroy cublasLtMatmulDescDestroy
#define ltMatmulDescSetAttribute cublasLtMatmulDescSetAttribute
#define ltMatmulPreferenceCreate cublasLtMatmulPreferenceCreate
#define ltMatmulPreferenceDestroy cublasLtMatmulPreferenceDestroy
#define ltMatmulPreferenceSetAttribute cublasLtMatmulPreferenceSetAttribute
#define ltMatrixLayoutCreate cublasLtMatrixLayoutCreate
#define ltMatrixLayoutDestroy cublasLtMatrixLayoutDestroy

#define ltOpN CUBLAS_OP_N
#define ltOpT CUBLAS_OP_T
#define ltEpilogueGeluAux CUBLASLT_EPILOGUE_GELU_AUX
#define ltEpilogueDgelu CUBLASLT_EPILOGUE_DGELU
#define ltDescTransA CUBLASLT_MATMUL_DESC_TRANSA
#define ltDescTransB CUBLASLT_MATMUL_DESC_TRANSB
#define ltDescEpilogue CUBLASLT_MATMUL_DESC_EPILOGUE
#define ltDescEpilogueAux CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER
#define ltDescEpilogueAuxLd CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD
#define ltDescScaleA CUBLASLT_MATMUL_DESC_A_SCALE_POINTER
#define ltDescScaleB CUBLASLT_MATMUL_DESC_B_SCALE_POINTER
#define ltPreferMaxWorkspace CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES

namespace duet::cuda {

constexpr std::uint64_t kUsualWorkspace = 32ull << 20;  // NVIDIA's recommendation for Hopper
constexpr int kRanking = 128;  // algorithms that tuning takes of each of the library's rankings

}  // namespace duet::cuda
