#pragma once

#include <cstdint>

#include "device/gpu/system_words.h"

namespace duet::DUET_GPU {

// A packet: 8 bytes of data for a peer's memory, in two words that each arrive atomically. Each
// word also has the number of its call. A receiver that finds the number in both words has the
// data, so no fence is needed.
constexpr std::uint64_t kPacketBytes = 16;

using Packet = TwoWords;  // each: number << 32 | data

struct alignas(8) Pair {
  std::uint32_t x, y;
};

__device__ inline Packet packet_of(const Pair& data, std::uint32_t number) {
  const std::uint64_t high = std::uint64_t{number} << 32;
  return {high | data.x, high | data.y};
}
__device__ inline bool is_of(const Packet& packet, std::uint32_t number) {
  return packet.first >> 32 == number && packet.second >> 32 == number;
}
__device__ inline Pair data_of(const Packet& packet) {
  return {static_cast<std::uint32_t>(packet.first), static_cast<std::uint32_t>(packet.second)};
}

__device__ inline void store_packet(unsigned char* to, const Packet& packet) {
  store_relaxed(reinterpret_cast<Packet*>(to), packet);
}
__device__ inline Packet load_packet(const unsigned char* from) {
  return load_relaxed(reinterpret_cast<const Packet*>(from));
}

}  // namespace duet::DUET_GPU
