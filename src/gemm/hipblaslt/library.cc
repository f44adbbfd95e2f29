#include "gemm/hipblaslt/library.h"

#include <fmt/format.h>

#include <iterator>

#include "core/error.h"
#include "core/module.h"

namespace duet::hipblaslt {
namespace {

Library open_library() {
  const duet::Library file({"libhipblaslt.so.1", "libhipblaslt.so.0",
                            "/opt/rocm/lib/libhipblaslt.so.1", "/opt/rocm/lib/libhipblaslt.so.0"});
  Library all;
  const auto need = [&file](const char* name, auto& function) {
    function = file.function<std::remove_reference_t<decltype(function)>>(name);
  };
  need("hipblasLtGetVersion", all.get_version);
  need("hipblasLtCreate", all.create);
  need("hipblasLtDestroy", all.destroy);
  need("hipblasLtMatrixLayoutCreate", all.layout_create);
  need("hipblasLtMatrixLayoutDestroy", all.layout_destroy);
  need("hipblasLtMatmulDescCreate", all.desc_create);
  need("hipblasLtMatmulDescDestroy", all.desc_destroy);
  need("hipblasLtMatmulDescSetAttribute", all.desc_set);
  need("hipblasLtMatmulPreferenceCreate", all.preference_create);
  need("hipblasLtMatmulPreferenceDestroy", all.preference_destroy);
  need("hipblasLtMatmulPreferenceSetAttribute", all.preference_set);
  need("hipblasLtMatmulAlgoGetHeuristic", all.heuristic);
  need("hipblasLtMatmul", all.matmul);
  return all;
}

// The library has no function for this.
const char* text_of(Status status) {
  constexpr const char* kTexts[] = {"success",         "not initialized",   "allocation failed",
                                    "invalid value",   "mapping error",     "execution failed",
                                    "internal error",  "not supported",     "architecture mismatch",
                                    "no handle given", "invalid enum value"};
  const bool known = status >= 0 && status < static_cast<int>(std::size(kTexts));
  return known ? kTexts[status] : "unknown status";
}

}  // namespace

const Library& library() {
  static const Library instance = open_library();
  return instance;
}

void throw_error(Status status, const char* call, const char* place) {
  const std::string message =
      fmt::format("{}: {} ({}) at {}", call, text_of(status), status, hip::place_in_source(place));
  if (status == kAllocFailed) throw OutOfMemory(message);
  if (status == kNotSupported || status == kArchMismatch) throw Unavailable(message);
  throw Error(message);
}

}  // namespace duet::hipblaslt
