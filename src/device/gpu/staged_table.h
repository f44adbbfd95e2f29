// An exchange by way of staging memory as its kernel reads it, in the kernel's parameters: what it
// needs of one peer stands together.
#pragma once

#include <cstdint>

#include "device/exchange.h"

namespace duet::gpu {

struct StagedPlaces {
  const unsigned char* source = nullptr;
  unsigned char* outbox = nullptr;
  const unsigned char* inbox = nullptr;
  unsigned char* destination = nullptr;
  const std::uint64_t* awaits = nullptr;  // a word for each block: the way out
};

struct StagedTable {
  std::uint64_t* calls = nullptr;  // that each block has had, in device memory
  const unsigned char* source = nullptr;
  unsigned char* destination = nullptr;
  std::uint32_t units = 0;  // of a part
  std::int32_t peers = 0;
  bool averages = false;
  StagedPlaces by_peer[kMostStagedPeers];
};

}  // namespace duet::gpu
