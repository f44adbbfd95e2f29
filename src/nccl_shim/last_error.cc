#include "nccl_shim/last_error.h"

#include <mutex>

#include "collectives/nccl/abi.h"
#include "core/error.h"
#include "nccl_shim/real_library.h"

namespace duet::nccl_shim {
namespace {

// Never destroyed, as the table of communicators.
struct LastError {
  std::mutex mutex;
  std::string own;
  std::string real;  // its text at that time: another one is of a later failure
};

LastError& last() {
  static auto* const instance = new LastError;
  return *instance;
}

// NCCL's text is one for all communicators.
const char* real_text() {
  using Ask = const char* (*)(nccl::Comm);
  try {
    const auto real = reinterpret_cast<Ask>(real_function("ncclGetLastError"));
    return real == nullptr ? "" : real(nullptr);
  } catch (const Error&) {  // there is no real NCCL
    return "";
  }
}

}  // namespace

void note_error(const std::string& text) {
  const std::string real = real_text();
  const std::lock_guard<std::mutex> lock(last().mutex);
  last().own = text;
  last().real = real;
}

const char* last_error() {
  const char* const real = real_text();
  static thread_local std::string copy;
  const std::lock_guard<std::mutex> lock(last().mutex);
  if (last().own.empty() || last().real != real) return real;
  copy = last().own;
  return copy.c_str();
}

}  // namespace duet::nccl_shim
