#pragma once

#include <cstdint>
#include <optional>

#include "device/gpu/device.h"
#include "gemm/cublas/check.h"
#include "gemm/workspace.h"

namespace duet::cuda {

// A cuBLAS handle of one plan, with its workspace.
class PlanHandle {
 public:
  PlanHandle(GpuDevice& device, const std::optional<Span>& shared)
      : workspace_(device, kBytes, shared) {
    device.use();
    cublasHandle_t handle = nullptr;
    DUET_CUBLAS_CHECK(cublasCreate(&handle));
    handle_.reset(handle);
  }

  cublasHandle_t get() const { return handle_.get(); }

  // The handle, for calls on this stream. cublasSetStream resets the workspace to the library's
  // own, so both are set for every call.
  cublasHandle_t on(Stream& stream) const {
    DUET_CUBLAS_CHECK(cublasSetStream(get(), static_cast<cudaStream_t>(stream.native())));
    DUET_CUBLAS_CHECK(cublasSetWorkspace(get(), workspace_.span().data, workspace_.span().bytes));
    return get();
  }

  std::uint64_t own_bytes() const { return workspace_.own_bytes(); }

 private:
  static constexpr std::uint64_t kBytes = 32ull << 20;  // PyTorch's on Hopper

  Workspace workspace_;  // freed after the handle
  Handle<cublasHandle_t, cublasDestroy> handle_;
};

}  // namespace duet::cuda
