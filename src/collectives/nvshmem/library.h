#pragma once

#include "collectives/nvshmem/calls.h"

namespace duet::nvshmem {

// NVSHMEM itself (library.cu).
const Calls& library_calls();

// Keeps `why` for error(); returns 1. The text must live as long as the program.
int failed(const char* why);

}  // namespace duet::nvshmem
