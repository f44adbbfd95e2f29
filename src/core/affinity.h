// The cores that a thread may run on, by the kernel's numbers.
#pragma once

#include <vector>

namespace duet {

// The cores of the calling thread. Empty if the kernel does not report them, as on machines with
// more than 1024 cores.
std::vector<int> allowed_cores();

// The core that the calling thread runs on, which may have changed when this returns; -1: unknown.
int current_core();

// Binds the calling thread, and threads that it starts later, to these cores. Does nothing if the
// kernel refuses.
void bind_to(const std::vector<int>& cores);

}  // namespace duet
