#pragma once

#include "replay/recorded.h"

namespace duet {

// Takes out the waits that the times of a trace contradict, and says so in a remark: a stream other
// than that of the GEMMs waited, as where parameters are gathered for a later layer, if the next
// GEMM began before the collective ended. Waits of calls without times stay.
void drop_waits_of_other_streams(RecordedTrace& trace);

}  // namespace duet
