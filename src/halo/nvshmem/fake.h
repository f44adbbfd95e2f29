#pragma once

#include "halo/nvshmem/calls.h"

namespace duet::nvshmem {

// What the fake does wrong, for tests of the tests.
enum class FakeFault { none, loses_last_row, loses_signals, signals_before_puts };

// NVSHMEM over host memory: the ranks of one process are the PEs, and its memory is symmetric as
// the library's is. A wait that lasts 3 s is an error. Each call begins with empty heaps, which no
// engine may use then.
const Calls& fake_calls(FakeFault fault = FakeFault::none);

}  // namespace duet::nvshmem
