// Counts calls of `new` in a program that is linked with count_allocations.cc.
#pragma once

namespace duet {

// The number of allocations by this thread so far.
long allocations();

}  // namespace duet
