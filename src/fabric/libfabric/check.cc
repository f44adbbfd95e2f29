#include "fabric/libfabric/check.h"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include <algorithm>

#include "core/error.h"

namespace duet::libfabric {

std::uint32_t api_version() {
  constexpr std::uint32_t kHeaders = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
  return std::min(fi_version(), kHeaders);
}

std::string error_text(long result) {
  return fmt::format("{} ({})", fi_strerror(static_cast<int>(-result)), -result);
}

void throw_error(long result, const char* call) {
  const std::string text = call;
  throw Error(fmt::format("{}: {}", text.substr(0, text.find('(')), error_text(result)));
}

}  // namespace duet::libfabric
