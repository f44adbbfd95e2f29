#pragma once

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::host {

// On the calling thread, until all packets have come or the exchange is ended.
void exchange_packets(const PacketExchange& exchanged);

}  // namespace duet::nccl_shim::host
