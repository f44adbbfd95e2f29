// A stand-in for rocBLAS: rocblas_gemm_ex by the CPU, in stream order, with the checks that find
// wrong arguments: sides against leading dimensions, types, and memory that the device does not
// reach.
#include <cstdint>
#include <cstdio>

#include "fake_gpu/blas/product.h"

namespace {

constexpr int kSuccess = 0, kInvalidHandle = 1, kNotImplemented = 2, kInvalidSize = 4,
              kInvalidValue = 11;
constexpr int kNone = 111, kTranspose = 112;
constexpr int kFp16 = 150, kFp32 = 151, kInt8 = 160, kInt32 = 162, kBf16 = 168;

struct Context {
  hipStream_t stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

fake_gpu::Element element_of(int type) {
  switch (type) {
    case kFp16:
      return fake_gpu::Element::fp16;
    case kInt8:
      return fake_gpu::Element::int8;
    case kInt32:
      return fake_gpu::Element::int32;
    case kBf16:
      return fake_gpu::Element::bf16;
    default:
      return fake_gpu::Element::fp32;
  }
}

bool are_known(int in, int out, int sums) {
  if (in == kInt8) return out == kInt32 && sums == kInt32;
  const bool floats = in == kFp16 || in == kBf16 || in == kFp32;
  return floats && (out == in || out == kFp32) && sums == kFp32;
}

}  // namespace

extern "C" {

int rocblas_get_version_string(char* text, std::size_t bytes) {
  std::snprintf(text, bytes, "4.2.0.standin");
  return kSuccess;
}

int rocblas_create_handle(Context** handle) {
  *handle = new Context;
  return kSuccess;
}

int rocblas_destroy_handle(Context* handle) {
  if (handle == nullptr) return kInvalidHandle;
  delete handle;
  return kSuccess;
}

int rocblas_set_stream(Context* handle, hipStream_t stream) {
  handle->stream = stream;
  return kSuccess;
}

int rocblas_set_workspace(Context* handle, void* data, std::size_t bytes) {
  if (!fake_gpu::reaches(fake_gpu::current_device(), data, bytes)) return kInvalidValue;
  handle->workspace = data;
  handle->workspace_bytes = bytes;
  return kSuccess;
}

const char* rocblas_status_to_string(int status) {
  return status == kInvalidSize      ? "rocblas_status_invalid_size"
         : status == kInvalidValue   ? "rocblas_status_invalid_value"
         : status == kNotImplemented ? "rocblas_status_not_implemented"
                                     : "rocblas_status_invalid_handle";
}

int rocblas_gemm_ex(Context* handle, int a_operation, int b_operation, std::int32_t m,
                    std::int32_t n, std::int32_t k, const void* alpha, const void* a, int a_type,
                    std::int32_t a_leading, const void* b, int b_type, std::int32_t b_leading,
                    const void* beta, const void* c, int c_type, std::int32_t c_leading, void* d,
                    int d_type, std::int32_t d_leading, int sums, int algorithm, std::int32_t,
                    std::uint32_t flags) {
  for (const int operation : {a_operation, b_operation}) {
    if (operation != kNone && operation != kTranspose) return kInvalidValue;
  }
  const bool a_turned = a_operation == kTranspose, b_turned = b_operation == kTranspose;
  if (algorithm != 0 || flags != 0 || c != d || c_type != d_type) return kInvalidValue;
  if (a_type != b_type || !are_known(a_type, d_type, sums)) return kNotImplemented;
  if (m < 1 || n < 1 || k < 1 || a_leading < (a_turned ? k : m) || b_leading < (b_turned ? n : k) ||
      c_leading < m || d_leading != c_leading) {
    return kInvalidSize;
  }
  const auto matrix = [](const void* data, int type, std::int64_t leading, std::int64_t columns) {
    return fake_gpu::Matrix{static_cast<std::byte*>(const_cast<void*>(data)), element_of(type),
                            leading, columns};
  };
  fake_gpu::Product product;
  product.m = m;
  product.n = n;
  product.k = k;
  product.a_turned = a_turned;
  product.b_turned = b_turned;
  product.a = matrix(a, a_type, a_leading, a_turned ? m : k);
  product.b = matrix(b, b_type, b_leading, b_turned ? k : n);
  product.c = product.d = matrix(d, d_type, d_leading, n);
  product.alpha = fake_gpu::load(alpha, element_of(sums));
  product.beta = fake_gpu::load(beta, element_of(sums));
  const hipError_t launched = fake_gpu::multiply(product, "rocBLAS", handle->stream);
  return launched == hipSuccess ? kSuccess : kInvalidHandle;
}

}  // extern "C"
