#pragma once

#include <optional>

#include "core/error.h"
#include "device/reduce.h"
#include "nccl_shim/cuda/kernel_arguments.h"
#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::host {

// On the calling thread, until all packets have come or the exchange is ended.
void exchange_packets(const PacketExchange& exchanged);

// The same of chunks.
void exchange_chunks(const cuda::ChunkArguments& arguments,
                     const std::optional<Exchange::Reduced>& reduced);

// At once, on the calling thread.
inline void reduce_parts(const PartsToReduce& reduced) {
  if (!is_reducible(reduced.type)) throw BadArgument("expected fp32, fp16, bf16 or int32");
  std::vector<const std::byte*> parts;
  for (const void* each : reduced.parts) parts.push_back(static_cast<const std::byte*>(each));
  reduce(reduced.type, reduced.reduction, parts, static_cast<std::byte*>(reduced.to),
         reduced.bytes / size_of(reduced.type));
}

}  // namespace duet::nccl_shim::host
