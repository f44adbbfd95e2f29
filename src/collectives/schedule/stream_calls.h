// The calls to streams by which a rank enqueues its part of a schedule.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/schedule/schedule.h"

namespace duet {

struct StreamCall {
  enum class Kind {
    handshake,  // `signals`, then `waits`
    copy,       // the step's number `copy`
    kernel,     // the step's
    record,     // an event behind all that the lane has got, for those that are after the step
    wait,       // for the event of the step, which is on another lane or was recorded before
    wire,       // the step's call of a wire
    compute,    // what the caller computes
    rows,       // rows that the caller multiplies
  };
  Kind kind = Kind::handshake;
  int lane = 0;
  int step = 0;
  std::size_t copy = 0;
  std::vector<SemaphoreAt> signals, waits;
};

// In the order of enqueueing. A step that only signals and the next one of its lane that only waits
// are one handshake. A step's event is recorded when its lane goes on, where later steps are after
// it, else by the first step that is.
std::vector<StreamCall> stream_calls(const RankSchedule& schedule);

// What a reader is told of a call: "copy 1 MiB to rank 2". "": nothing, of what only orders.
std::string text_of(const RankSchedule& schedule, const StreamCall& call);

}  // namespace duet
