// The NCCL that the drop-in stands before.
#pragma once

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

}  // namespace duet::nccl_shim
