#pragma once

#include <string>

#include "collectives/nccl/abi.h"

namespace duet::nccl {

// The functions of NCCL or RCCL that Duet calls, found at run time. Functions that "may be null"
// are missing from older libraries.
struct Library {
  std::string product;    // "NCCL", "RCCL"
  int version = 0;        // in the form of ncclGetVersion: 22809 is 2.28.9
  bool nvls_off = false;  // NCCL_NVLS_ENABLE=0: no NVLink multicast, no reduction in the switch

  Result (*get_version)(int*) = nullptr;
  Result (*get_unique_id)(UniqueId*) = nullptr;
  const char* (*error_string)(Result) = nullptr;
  const char* (*last_error)(Comm) = nullptr;  // may be null

  Result (*comm_init)(Comm*, int ranks, UniqueId, int rank) = nullptr;
  Result (*comm_init_config)(Comm*, int ranks, UniqueId, int rank,
                             Config*) = nullptr;  // may be null
  Result (*comm_destroy)(Comm) = nullptr;
  Result (*comm_abort)(Comm) = nullptr;
  Result (*comm_async_error)(Comm, Result*) = nullptr;

  Result (*group_start)() = nullptr;
  Result (*group_end)() = nullptr;
  Result (*send)(const void*, std::size_t, Type, int peer, Comm, NativeStream) = nullptr;
  Result (*recv)(void*, std::size_t, Type, int peer, Comm, NativeStream) = nullptr;

  Result (*all_gather)(const void*, void*, std::size_t, Type, Comm, NativeStream) = nullptr;
  Result (*reduce_scatter)(const void*, void*, std::size_t, Type, Operation, Comm,
                           NativeStream) = nullptr;
  Result (*all_reduce)(const void*, void*, std::size_t, Type, Operation, Comm,
                       NativeStream) = nullptr;
  Result (*broadcast)(const void*, void*, std::size_t, Type, int root, Comm,
                      NativeStream) = nullptr;
  // May be null:
  Result (*all_to_all)(const void*, void*, std::size_t, Type, Comm, NativeStream) = nullptr;
  Result (*gather)(const void*, void*, std::size_t, Type, int root, Comm, NativeStream) = nullptr;
  Result (*scatter)(const void*, void*, std::size_t, Type, int root, Comm, NativeStream) = nullptr;

  // May be null:
  Result (*mem_alloc)(void**, std::size_t) = nullptr;
  Result (*mem_free)(void*) = nullptr;
  Result (*window_register)(Comm, void*, std::size_t, Window*, int flags) = nullptr;
  Result (*window_deregister)(Comm, Window) = nullptr;
};

// The library; the first call in a process opens it. For NCCL sets NCCL_NVLS_ENABLE=0 unless the
// user has set the variable, because some systems do not permit multicast objects. NCCL's own
// default is to use NVLS, so plans then add "NVLS off" to algorithm(). Throws Unavailable where the
// library or one of the functions that may not be null is missing.
const Library& library();

// How a drop-in makes calls, if the user's environment does not say otherwise.
enum class DropInMeans {
  packets_and_copies,  // every call that it can, those of at most kMostDropInPackets by packets
  kernel,              // collectives of every size by its kernel of chunks
};

// The library with Duet's drop-in (docs/pytorch.md), the file `path`, before it. Throws Unavailable
// if the file cannot be opened. The drop-in reads the process's environment in this call, in which
// DUET_NCCL_... are set; afterwards they are as they were. One file has one environment: for other
// means it takes the other of the drop-in's two libraries.
Library with_drop_in(const Library& library, const std::string& path,
                     DropInMeans means = DropInMeans::packets_and_copies);

// "2.28.9"
std::string version_text(int version);

// Throws Error with the call, the library's text for the result and the source location.
[[noreturn]] void throw_error(const Library& library, Result result, const char* call,
                              const char* file, int line);

// Ignores a result. For destructors, which cannot report an error.
inline void forget(Result) noexcept {}

}  // namespace duet::nccl

#define DUET_NCCL_CHECK(library, ...)                                                         \
  do {                                                                                        \
    const ::duet::nccl::Result duet_nccl_result = (library).__VA_ARGS__;                      \
    if (duet_nccl_result != ::duet::nccl::kSuccess) {                                         \
      ::duet::nccl::throw_error(library, duet_nccl_result, #__VA_ARGS__, __FILE__, __LINE__); \
    }                                                                                         \
  } while (false)
