#include "nccl_shim/log.h"

#include <unistd.h>

#include <cstdio>
#include <mutex>

#include "collectives/nccl/abi.h"
#include "core/error.h"
#include "nccl_shim/real_library.h"
#include "nccl_shim/settings.h"

namespace duet::nccl_shim {
namespace {

void print(const std::string& line) {
  std::fprintf(stderr, "duet-nccl[%d]: %s\n", static_cast<int>(getpid()), line.c_str());
}

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

void log_error(const std::string& line) {
  print(line);
  note_error(line);
}

void log_warning(const std::string& line) { print(line); }

void log_info(const std::string& line) {
  if (settings().log) print(line);
}

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
