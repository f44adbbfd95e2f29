#include "core/packets.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "fake_gpu/cuda/kernels.h"

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

void* buffer_of(const PacketExchange::Peer& peer, std::size_t offset) {
  return static_cast<char*>(const_cast<void*>(peer.from)) + offset;
}

bool has_number(const std::uint64_t* word, std::uint32_t number) {
  return __atomic_load_n(word, __ATOMIC_RELAXED) >> 32 == number;
}

// Says whose packets of the data from `at` on are missing.
void report(const PacketExchange& exchanged, std::size_t at, std::uint32_t number,
            std::size_t offset) {
  for (std::size_t i = 0; i < exchanged.peers.size(); ++i) {
    const std::uint64_t* const words = packet_at(buffer_of(exchanged.peers[i], offset), at);
    if (has_number(words, number) && has_number(words + 1, number)) continue;
    const std::size_t rank = i < static_cast<std::size_t>(exchanged.rank) ? i : i + 1;
    exchanged.words->awaited[rank].store(1, std::memory_order_release);
  }
}

// False if the exchange has been ended.
bool pull_packets(const PacketExchange::Peer& peer, void* receive, const PacketExchange& exchanged,
                  std::uint32_t number, std::size_t offset) {
  for (std::size_t at = 0; at < exchanged.bytes; at += kData) {
    const std::uint64_t* const words = packet_at(buffer_of(peer, offset), at);
    std::uint32_t data[2] = {};
    for (int i = 0; i < 2; ++i) {
      while (!has_number(words + i, number)) {
        report(exchanged, at, number, offset);
        if (exchanged.words->ended.load(std::memory_order_acquire) != 0) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
      data[i] = static_cast<std::uint32_t>(__atomic_load_n(words + i, __ATOMIC_RELAXED));
    }
    std::memcpy(static_cast<char*>(receive) + at, data, std::min(kData, exchanged.bytes - at));
  }
  return true;
}

void move(const PacketExchange& exchanged, std::uint32_t number, std::size_t offset) {
  if (exchanged.result != exchanged.own) {
    std::memcpy(exchanged.result, exchanged.own, exchanged.bytes);
  }
  for (const PacketExchange::Peer& peer : exchanged.peers) {
    if (!pull_packets(peer, peer.receive, exchanged, number, offset)) return;
  }
}

void reduce(const PacketExchange& exchanged, std::uint32_t number, std::size_t offset) {
  std::vector<std::vector<char>> received(exchanged.peers.size());
  PartsToReduce parts{
      exchanged.result, {}, exchanged.bytes, exchanged.reduced->type, exchanged.reduced->reduction};
  for (std::size_t i = 0; i < received.size(); ++i) {
    received[i].resize(exchanged.bytes);
    if (!pull_packets(exchanged.peers[i], received[i].data(), exchanged, number, offset)) return;
    parts.parts.push_back(received[i].data());
  }
  parts.parts.insert(parts.parts.begin() + exchanged.rank, exchanged.own);
  reduce_parts(parts);
}

}  // namespace

void exchange_packets(const PacketExchange& exchanged) {
  const std::uint32_t number = next_packet_number(*exchanged.last);
  const std::size_t offset = number % 2 * exchanged.turn;
  for (const PacketExchange::Peer& peer : exchanged.peers) {
    push_packets(peer, exchanged.bytes, number, offset);
  }
  std::fill_n(exchanged.last, kPacketBlocks, number);
  (exchanged.reduced ? reduce : move)(exchanged, number, offset);
}

}  // namespace duet::nccl_shim::host
