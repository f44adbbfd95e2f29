// Counts what `new` is asked for, in a program that is linked with count_allocations.cc.
#pragma once

namespace duet {

// By this thread, so far.
long allocations();

}  // namespace duet
