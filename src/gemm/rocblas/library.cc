#include "gemm/rocblas/library.h"

#include "core/module.h"

namespace duet::rocblas {
namespace {

Library open_library() {
  const duet::Library file({"librocblas.so.5", "librocblas.so.4", "/opt/rocm/lib/librocblas.so.5",
                            "/opt/rocm/lib/librocblas.so.4"});
  Library all;
  const auto need = [&file](const char* name, auto& function) {
    function = file.function<std::remove_reference_t<decltype(function)>>(name);
  };
  need("rocblas_create_handle", all.create_handle);
  need("rocblas_destroy_handle", all.destroy_handle);
  need("rocblas_set_stream", all.set_stream);
  need("rocblas_set_workspace", all.set_workspace);
  need("rocblas_status_to_string", all.status_text);
  need("rocblas_gemm_ex", all.gemm_ex);
  return all;
}

}  // namespace

const Library& library() {
  static const Library instance = open_library();
  return instance;
}

}  // namespace duet::rocblas
