// Which collectives use packet buffers, and that each rank receives the items that its peer sends.
#include "collectives/peer/kernel_items.h"

#include <gtest/gtest.h>

#include <mutex>
#include <optional>

#include "device/machine.h"

namespace duet {
namespace {

constexpr int kRanks = 4;

Collective of(CollectiveKind kind, std::uint64_t count) {
  Collective c;
  c.kind = kind;
  c.dtype = DType::bf16;
  c.count = count;
  return c;
}

// The bytes of the staged part, which must be the same on all ranks. On the last rank the buffers
// begin `shift` bytes after the start of an allocation.
std::uint64_t part_of_all(const Collective& c, std::uint64_t shift = 0) {
  const auto machine = open_machine("host:4");
  Team team(*machine);
  std::mutex mutex;
  std::optional<std::uint64_t> part;
  team.each([&](Rank& rank) {
    const std::uint64_t bytes = send_bytes(c, rank.index, kRanks);
    const std::uint64_t begin = rank.index == kRanks - 1 ? shift : 0;
    const Buffer send = rank.device.allocate(bytes + begin);
    const Buffer recv = rank.device.allocate(recv_bytes(c, rank.index, kRanks));
    const PeerMemory sends(rank, send.slice(begin, bytes), "send buffers");
    const PeerMemory recvs(rank, recv.span(), "receive buffers");
    const std::uint64_t own = packet_part(c, sends, recvs);
    {
      const std::lock_guard<std::mutex> lock(mutex);
      EXPECT_EQ(part.value_or(own), own);
      part = own;
    }
    team.barrier("all ranks to be done");
  });
  return *part;
}

TEST(Packets, IsForSmallAndEvenParts) {
  EXPECT_EQ(part_of_all(of(CollectiveKind::all_gather, 8192)), 16384u);
  EXPECT_EQ(part_of_all(of(CollectiveKind::all_to_all, 4)), 8u);
  EXPECT_EQ(part_of_all(of(CollectiveKind::reduce_scatter, 65536)), 131072u);
  EXPECT_EQ(part_of_all(of(CollectiveKind::reduce_scatter, 65540)), 0u);  // too large
  EXPECT_EQ(part_of_all(of(CollectiveKind::all_gather, 3)), 0u);          // no whole units
  EXPECT_EQ(part_of_all(of(CollectiveKind::all_gather, 0)), 0u);
  EXPECT_EQ(part_of_all(of(CollectiveKind::broadcast, 8192)), 0u);
  EXPECT_EQ(part_of_all(of(CollectiveKind::all_reduce, 8192)), 0u);
  EXPECT_EQ(part_of_all(of(CollectiveKind::all_gather, 8192), 4), 0u);  // unaligned on one rank
  EXPECT_EQ(part_of_all(of(CollectiveKind::all_gather, 8192), 8), 16384u);
}

TEST(Packets, WhatOneSendsIsWhatTheOtherReceives) {
  const auto machine = open_machine("host:4");
  Team team(*machine);
  for (const auto kind :
       {CollectiveKind::all_gather, CollectiveKind::all_to_all, CollectiveKind::reduce_scatter}) {
    const Collective c = of(kind, 512);
    const std::uint64_t part = 1024;
    std::vector<PacketKernel> kernels(kRanks);
    team.each([&](Rank& rank) {
      const Buffer send = rank.device.allocate(send_bytes(c, rank.index, kRanks));
      const Buffer recv = rank.device.allocate(recv_bytes(c, rank.index, kRanks));
      const PeerMemory sends(rank, send.span(), "send buffers");
      const PeerMemory recvs(rank, recv.span(), "receive buffers");
      const PacketBuffers packet_buffers(rank, packet_buffer_bytes(part));
      const PacketKernel kernel = packet_kernel({}, c, rank.index, sends, recvs, packet_buffers);
      kernels[static_cast<std::size_t>(rank.index)] = kernel;
      const auto at = [&](int i) { return part * static_cast<std::uint64_t>(i); };
      const bool gathers = kind == CollectiveKind::all_gather;
      EXPECT_EQ(kernel.source.data, send.span().data + (gathers ? 0 : at(rank.index)));
      EXPECT_EQ(kernel.destination.data, recv.span().data + (kernel.reduces ? 0 : at(rank.index)));
      for (int next = 1; next < kRanks; ++next) {
        const int other = (rank.index + next) % kRanks;
        const PacketPeer& peer = kernel.peers[static_cast<std::size_t>(next - 1)];
        EXPECT_EQ(peer.source.data, send.span().data + (gathers ? 0 : at(other)));
        EXPECT_EQ(peer.destination.data, recv.span().data + (kernel.reduces ? 0 : at(other)));
      }
      team.barrier("all ranks to have looked");
    });
    for (int from = 0; from < kRanks; ++from) {
      for (int next = 1; next < kRanks; ++next) {
        const PacketKernel& there = kernels[static_cast<std::size_t>((from + next) % kRanks)];
        EXPECT_EQ(kernels[static_cast<std::size_t>(from)]
                      .peers[static_cast<std::size_t>(next - 1)]
                      .to_peer.data,
                  there.peers[static_cast<std::size_t>(kRanks - next - 1)].from_peer.data);
      }
    }
  }
}

}  // namespace
}  // namespace duet
