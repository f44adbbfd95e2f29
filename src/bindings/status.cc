#include "bindings/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace duet::bindings {
namespace {

thread_local std::string last_error;

// In the order of how much a type says: a type before those that it derives from.
template <typename Type>
bool is(const std::exception& error) {
  return dynamic_cast<const Type*>(&error) != nullptr;
}

duet_status status_of(const std::exception& error) {
  if (is<UsageError>(error)) return DUET_USAGE_ERROR;
  if (is<BadArgument>(error)) return DUET_BAD_ARGUMENT;
  if (is<Unavailable>(error)) return DUET_UNAVAILABLE;
  if (is<OutOfMemory>(error) || is<std::bad_alloc>(error)) return DUET_OUT_OF_MEMORY;
  if (is<Timeout>(error)) return DUET_TIMEOUT;
  if (is<PeerFailed>(error)) return DUET_PEER_FAILED;
  if (is<Interrupted>(error)) return DUET_INTERRUPTED;
  return DUET_ERROR;
}

void keep(const char* text) noexcept {
  try {
    last_error = text;
  } catch (...) {
    last_error.clear();
  }
}

}  // namespace

duet_status status_of_exception() noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    keep(error.what());
    return status_of(error);
  } catch (...) {
    keep("an exception of another library");
    return DUET_ERROR;
  }
}

duet_status status_of(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (...) {
    return status_of_exception();
  }
}

void require_pointer(const void* pointer, const char* name) {
  if (pointer == nullptr) throw BadArgument(fmt::format("{}: expected a pointer, not NULL", name));
}

void check_struct(const void* given, std::size_t known, const char* name) {
  std::uint64_t size = 0;
  std::memcpy(&size, given, sizeof size);
  constexpr std::uint64_t kMostBytes = 4096;  // else `size` was not set
  if (size < sizeof size || size > kMostBytes) {
    throw BadArgument(fmt::format("{}: a size of {}: expected sizeof of the struct", name, size));
  }
  const auto* const bytes = static_cast<const unsigned char*>(given);
  if (size > known &&
      std::any_of(bytes + known, bytes + size, [](auto byte) { return byte != 0; })) {
    throw Unavailable(fmt::format("{}: expected no field that this library does not know", name));
  }
}

}  // namespace duet::bindings

using duet::bindings::last_error;

const char* duet_status_name(duet_status status) noexcept {
  constexpr const char* kNames[] = {"ok",           "error",       "usage error",
                                    "bad argument", "unavailable", "out of memory",
                                    "timeout",      "peer failed", "interrupted"};
  const bool known = status >= DUET_OK && status <= DUET_INTERRUPTED;
  return known ? kNames[status] : "unknown status";
}

const char* duet_last_error() noexcept { return last_error.c_str(); }

const char* duet_text_data(const duet_text* text) noexcept {
  return text == nullptr ? "" : text->text.c_str();
}

size_t duet_text_length(const duet_text* text) noexcept {
  return text == nullptr ? 0 : text->text.size();
}

void duet_text_free(duet_text* text) noexcept { delete text; }
