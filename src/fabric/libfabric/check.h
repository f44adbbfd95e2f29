#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string>

namespace duet::libfabric {

// The newest interface that both the headers and the library at run time have: asking for more
// gives ENOSYS.
std::uint32_t api_version();

// "No data available (61)".
std::string error_text(long result);

// Throws Error with the name of the call and error_text(result).
[[noreturn]] void throw_error(long result, const char* call);

struct Close {
  template <typename Object>
  void operator()(Object* object) const {
    static_cast<void>(fi_close(&object->fid));
  }
};
template <typename Object>
using Handle = std::unique_ptr<Object, Close>;

struct FreeInfo {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

}  // namespace duet::libfabric

#define DUET_FI_CHECK(...)                                          \
  do {                                                              \
    const long duet_fi_result = static_cast<long>(__VA_ARGS__);     \
    if (duet_fi_result < 0) {                                       \
      ::duet::libfabric::throw_error(duet_fi_result, #__VA_ARGS__); \
    }                                                               \
  } while (false)
