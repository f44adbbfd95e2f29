#include "nccl_shim/host/packets.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "nccl_shim/protocol/packet_number.h"

namespace duet::nccl_shim::host {
namespace {

constexpr std::size_t kData = 8, kPacket = 16;  // bytes

// The two words of a packet, each of which arrives whole: the call's number above four bytes of
// data.
std::uint64_t* packet_at(void* buffer, std::size_t at) {
  return reinterpret_cast<std::uint64_t*>(static_cast<char*>(buffer) + at / kData * kPacket);
}

void push_packets(const PacketExchange::Peer& peer, std::size_t bytes, std::uint32_t number,
                  std::size_t offset) {
  for (std::size_t at = 0; at < bytes; at += kData) {
    std::uint32_t data[2] = {};
    std::memcpy(data, static_cast<const char*>(peer.send) + at, std::min(kData, bytes - at));
    std::uint64_t* const words = packet_at(static_cast<char*>(peer.to) + offset, at);
    for (int i = 0; i < 2; ++i) {
      __atomic_store_n(words + i, std::uint64_t{number} << 32 | data[i], __ATOMIC_RELAXED);
    }
  }
}

// False if the exchange has been ended.
bool pull_packets(const PacketExchange::Peer& peer, const PacketExchange& exchanged,
                  std::uint32_t number, std::size_t offset) {
  char* const from = static_cast<char*>(const_cast<void*>(peer.from)) + offset;
  for (std::size_t at = 0; at < exchanged.bytes; at += kData) {
    const std::uint64_t* const words = packet_at(from, at);
    std::uint32_t data[2] = {};
    for (int i = 0; i < 2; ++i) {
      std::uint64_t word = 0;
      while ((word = __atomic_load_n(words + i, __ATOMIC_RELAXED)) >> 32 != number) {
        if (exchanged.words->ended.load(std::memory_order_acquire) != 0) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
      data[i] = static_cast<std::uint32_t>(word);
    }
    std::memcpy(static_cast<char*>(peer.receive) + at, data, std::min(kData, exchanged.bytes - at));
  }
  return true;
}

}  // namespace

void exchange_packets(const PacketExchange& exchanged) {
  const std::uint32_t number = next_number(*exchanged.last);
  const std::size_t offset = number % 2 * exchanged.turn;
  exchanged.words->begun.store(number, std::memory_order_release);
  for (const PacketExchange::Peer& peer : exchanged.peers) {
    push_packets(peer, exchanged.bytes, number, offset);
  }
  std::fill_n(exchanged.last, kPacketBlocks, number);
  for (const PacketExchange::Peer& peer : exchanged.peers) {
    if (!pull_packets(peer, exchanged, number, offset)) break;
  }
  for (Word& each : exchanged.words->made) each.store(number, std::memory_order_release);
}

}  // namespace duet::nccl_shim::host
