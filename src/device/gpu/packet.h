#pragma once

#include <cstdint>

#include "device/gpu/reduction_words.h"
#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

// A packet: 8 bytes of data for a peer's memory, in two words that each arrive atomically. Each
// word also has the number of its call. A receiver that finds the number in both words has the
// data, so no fence is needed.
constexpr std::uint64_t kPacketBytes = 16;

struct Packet {
  std::uint64_t first, second;  // number << 32 | data
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

#ifdef DUET_GPU_HIP
__device__ inline void store_packet(unsigned char* to, const Packet& packet) {
  auto* const halves = reinterpret_cast<std::uint64_t*>(to);
  __hip_atomic_store(halves, packet.first, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_store(halves + 1, packet.second, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline Packet load_packet(const unsigned char* from) {
  const auto* const halves = reinterpret_cast<const std::uint64_t*>(from);
  return {__hip_atomic_load(halves, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM),
          __hip_atomic_load(halves + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)};
}
#else
__device__ inline void store_packet(unsigned char* to, const Packet& packet) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(packet.first),
               "l"(packet.second)
               : "memory");
}
__device__ inline Packet load_packet(const unsigned char* from) {
  Packet packet;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(packet.first), "=l"(packet.second)
               : "l"(from)
               : "memory");
  return packet;
}
#endif

}  // namespace duet::DUET_GPU
