// What holds of the arguments of every plan, whoever makes it.
#pragma once

#include <string>
#include <vector>

#include "collectives/engine.h"

namespace duet {

// The buffers without what callers have behind them. Throws BadArgument unless they are large
// enough, of the rank's own device, and apart from each other or in place as collective.h says.
CollectiveBuffers checked_buffers(const Rank& rank, const Collective& collective,
                                  const CollectiveBuffers& buffers);

// Does one buffer lie in the other?
bool in_place(const CollectiveBuffers& buffers);

// Collective, inside Team::each(): what every rank brings, by rank, once all are known to ask for
// the same collective. What `make` throws on one rank is thrown on all; BadArgument where they ask
// for different ones.
Team::Gathered agree(Rank& rank, const Collective& collective, const Team::Make& make,
                     double deadline_seconds = 60);

}  // namespace duet
