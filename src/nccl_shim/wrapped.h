// Functions of NCCL that the drop-in defines itself: duet_ncclX, to which the exported ncclX jump.
#pragma once

#include "collectives/nccl/abi.h"
#include "nccl_shim/real_library.h"

#define DUET_NCCL_WRAPPER_OF(type, name) \
  extern "C" [[gnu::visibility("hidden"), gnu::used]] type duet_##name
#define DUET_NCCL_WRAPPER(name) DUET_NCCL_WRAPPER_OF(duet::nccl::Result, name)

// In duet_ncclX: the real ncclX, or what refuses in its place, as `real`. Looked up once.
#define DUET_NCCL_REAL(name) \
  static const auto real =   \
      reinterpret_cast<decltype(&duet_##name)>(duet::nccl_shim::real_function_or_refusal(#name))
