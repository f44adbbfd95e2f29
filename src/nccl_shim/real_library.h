// The NCCL that the drop-in stands before.
#pragma once

#include <string>
#include <vector>

#include "collectives/nccl/abi.h"

namespace duet::nccl_shim {

// The real function, or null where the real library has none of this name. Throws UsageError for
// bad settings, Unavailable if there is no real library. Thread-safe.
void* real_function(const char* name);

// As real_function(); where there is none, a function that returns an ncclResult_t of failure, or a
// text where the real one does, and a line on standard error that says why. Does not throw.
void* real_function_or_refusal(const char* name);

// Whether the code at `address` is the real library's. NCCL asks its own communicators for their
// state by the name that programs use, and so arrives in a preloaded drop-in: it wants what it
// knows itself. Does not throw.
bool is_real(const void* address);

// Of the real library: its version, "2.28.9", and the functions ncclX that it exports and that the
// drop-in does not know (functions.h), sorted. Both are empty where that cannot be found out. Do
// not throw.
std::string real_version();
std::vector<std::string> unknown_functions();

}  // namespace duet::nccl_shim

// Functions of NCCL that the drop-in defines itself: duet_ncclX, to which the exported ncclX jump.
#define DUET_NCCL_WRAPPER_OF(type, name) \
  extern "C" [[gnu::visibility("hidden"), gnu::used]] type duet_##name
#define DUET_NCCL_WRAPPER(name) DUET_NCCL_WRAPPER_OF(duet::nccl::Result, name)

// In duet_ncclX: the real ncclX, or what refuses in its place, as `real`. Looked up once.
#define DUET_NCCL_REAL(name) \
  static const auto real =   \
      reinterpret_cast<decltype(&duet_##name)>(duet::nccl_shim::real_function_or_refusal(#name))
