// The engines dma, sdma, kernel and auto where all ranks are of one node.
#pragma once

#include <memory>

#include "collectives/own_engines.h"

namespace duet {

// Collective among processes, outside of Team::each().
std::unique_ptr<CollectiveSession> open_peer_session(Team& team, OwnEngineKind kind);

}  // namespace duet
