#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/nvshmem/calls.h"

namespace duet::nvshmem {

// What the fake does wrong, for tests of the tests. `signals_before_puts`: puts with a signal are
// still under way when anybody reads. `late_puts`, which NVSHMEM may do as well: of PE 0 the first
// put with a signal of each row arrives after those of the next row.
enum class FakeFault { none, loses_last_put, loses_signals, signals_before_puts, late_puts };

// NVSHMEM over host memory: the ranks of one process are the PEs, and its memory is symmetric as
// the library's is. A wait that lasts 3 s is an error. Each call begins with empty heaps, which no
// engine may use then.
const Calls& fake_calls(FakeFault fault = FakeFault::none);

// For workloads that add calls of their own to the fake.
void reset_fake(FakeFault fault);  // begins with empty heaps
FakeFault fake_fault();
int fake_failure(const char* why);  // keeps the reason for error(); returns 1
// An address of one PE at another one; nullptr: it is not symmetric.
std::byte* fake_address(const void* address, int pe, int other);
void fake_signal(std::uint64_t* word, std::uint64_t value, bool adds);
bool fake_wait(const std::uint64_t* word, std::uint64_t value);  // false: the value did not come

}  // namespace duet::nvshmem
