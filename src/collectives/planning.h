// What every engine asks of a plan's arguments before it makes one.
#pragma once

#include <string>
#include <vector>

#include "collectives/engine.h"

namespace duet {

// Throws BadArgument unless the rank's buffers are large enough and of its own device.
void check_buffers(const Rank& rank, const Collective& collective,
                   const CollectiveBuffers& buffers);

// Does one buffer lie in the other?
bool in_place(const CollectiveBuffers& buffers);

// Collective, inside Team::each(): what every rank brings, by rank, once all are known to ask for
// the same collective; throws BadArgument on all ranks where they do not.
Team::Gathered agree(Rank& rank, const Collective& collective, const std::string& mine,
                     double deadline_seconds = 60);

}  // namespace duet
