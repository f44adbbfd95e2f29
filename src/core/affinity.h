// The cores that a thread may run on, as the kernel numbers them.
#pragma once

#include <vector>

namespace duet {

// This thread's; none where the kernel does not say, as on machines with more than 1024.
std::vector<int> allowed_cores();

// The one it is on, which may be another by the time this returns; -1: unknown.
int current_core();

// Binds this thread, and those it makes from then on, to these. No more than a wish: where the
// kernel does not allow it the thread runs where it did.
void bind_to(const std::vector<int>& cores);

}  // namespace duet
