#pragma once

#include <cstdint>

#include "device/gpu/system_words.h"

namespace duet::DUET_GPU {

// A packet with a number: 8 bytes of data for a peer's memory, in two words that each arrive
// atomically. Each word also has the number of its call. A receiver that finds the number in both
// words has the data, so no fence is needed.
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
template <typename Some>
__device__ Some load_packet(const unsigned char* from) {
  return load_relaxed(reinterpret_cast<const Some*>(from));
}

// A packet without a number: the data inverted, and never 0, which is that nothing has come. Only
// data of which all bits are 1 would be, a NaN in every floating-point type: its lowest bit changes
// and leaves a NaN.
struct BarePacket {
  std::uint64_t word;
};

__device__ inline BarePacket bare_packet_of(const Pair& data) {
  const std::uint64_t word = ~(std::uint64_t{data.y} << 32 | data.x);
  return {word == 0 ? 1 : word};
}
__device__ inline Pair data_of(const BarePacket& packet) {
  return {static_cast<std::uint32_t>(~packet.word), static_cast<std::uint32_t>(~packet.word >> 32)};
}
__device__ inline void store_packet(unsigned char* to, const BarePacket& packet) {
  store_relaxed(reinterpret_cast<std::uint64_t*>(to), packet.word);
}
template <>
__device__ inline BarePacket load_packet(const unsigned char* from) {
  return {load_relaxed(reinterpret_cast<const std::uint64_t*>(from))};
}

}  // namespace duet::DUET_GPU
