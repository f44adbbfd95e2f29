// The sessions of the engines dma, sdma, kernel and auto.
#pragma once

#include <memory>

#include "collectives/engine.h"
#include "collectives/own_engines.h"
#include "team/nodes.h"

namespace duet {

// Collective among processes, outside of Team::each().
std::unique_ptr<CollectiveSession> open_peer_session(Team& team, OwnEngineKind kind);

// Collective among processes, outside of Team::each(). `map` is the team's and has several nodes.
// Where nodes are unequal or ranks are reached by no wire, the session supports nothing, with that
// reason.
std::unique_ptr<CollectiveSession> open_nodes_session(Team& team, OwnEngineKind kind, NodeMap map);

}  // namespace duet
