// What functions of the C interface share: statuses for exceptions, the last error of a thread, and
// option structs that grow.
#pragma once

#include <cstring>
#include <exception>
#include <string>

#include "bindings/duet.h"
#include "core/error.h"

namespace duet::bindings {

// The status of the exception that is being handled. Keeps its text for duet_last_error().
duet_status status_of_exception() noexcept;
duet_status status_of(const std::exception_ptr& error) noexcept;

// Runs `function`, whose exceptions become a status.
template <typename Function>
duet_status guarded(const Function& function) noexcept {
  try {
    function();
    return DUET_OK;
  } catch (...) {
    return status_of_exception();
  }
}

// Throws BadArgument where a handle or a result's place is NULL.
void require_pointer(const void* pointer, const char* name);

// Bytes of a struct behind those that this library knows must be 0 (as Linux'
// copy_struct_from_user()). `known`: sizeof of the struct, whose first field is its size. Throws
// BadArgument where it is less than the first field, Unavailable where a further byte is not 0.
void check_struct(const void* given, std::size_t known, const char* name);

// The struct as this library knows it; fields that a shorter one lacks are 0.
template <typename Struct>
Struct read_struct(const Struct* given, const char* name) {
  require_pointer(given, name);
  check_struct(given, sizeof(Struct), name);
  Struct whole{};
  std::memcpy(&whole, given, given->size < sizeof whole ? given->size : sizeof whole);
  whole.size = sizeof whole;
  return whole;
}

// Fills as much of the caller's struct as it has; `size` keeps the caller's value.
template <typename Struct>
void write_struct(Struct* to, Struct from, const char* name) {
  require_pointer(to, name);
  if (to->size < sizeof to->size) throw BadArgument(std::string(name) + ": expected its size");
  from.size = to->size;
  std::memcpy(to, &from, to->size < sizeof from ? to->size : sizeof from);
}

}  // namespace duet::bindings

struct duet_text {
  std::string text;
};
