// An exchange with peers as its kernel reads it: in the kernel's parameters, since each step from
// one table in memory to the next would take longer than a meeting's flight over the link.
#pragma once

#include <cstdint>

#include "device/exchange.h"

namespace duet::gpu {

// One source to one destination. Places are in the list of addresses.
struct PeerMove {
  std::uint64_t bytes = 0;
  std::uint32_t share = 0;  // vectors of 16 bytes that are the first block's
  std::uint8_t source = 0;
  std::uint8_t destination = 0;
  std::uint8_t width = 0;  // bytes by which both addresses are alike: 16, 4 or 1
};

// The addresses from `first` on are those of the sources, after them the destinations'.
struct PeerReduction {
  std::uint64_t bytes = 0;
  std::uint32_t share = 0;  // as above
  std::uint8_t first = 0;
  std::uint8_t sources = 0;
  std::uint8_t destinations = 0;
  std::uint8_t width = 0;  // of all addresses
};

struct PeerExchangeTable {
  unsigned char* addresses[kMostSpans] = {};
  PeerMove moves[kMostSpans - 1];
  PeerReduction reductions[kMostSpans / 3];
  std::uint64_t* arrivals[kMostPeers] = {};  // by peer: a word for each block
  std::uint64_t* awaits[kMostPeers] = {};
  std::uint64_t* calls = nullptr;  // that each block has had, in device memory
  int move_count = 0;
  int reduction_count = 0;
  int peers = 0;
  bool averages = false;
  bool writes_out = false;  // to other memory than this device's own
  bool opens = true;        // meets before
  bool closes = true;       // meets after
};

static_assert(sizeof(PeerExchangeTable) <= 4096, "what a kernel's parameters hold");

}  // namespace duet::gpu
