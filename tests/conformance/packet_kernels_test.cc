// Packet kernels of small parts. Devices without packets use the kernel's barrier.
#include <cstdint>
#include <limits>
#include <utility>

#include "devices.h"

namespace duet::conformance {
namespace {

constexpr int kBlocks = 4;
constexpr int kRanks = 6;  // at most; distributed over the machine's devices in turn
constexpr std::size_t kWordBytes = kBlocks * sizeof(std::uint64_t);

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

class PacketKernels : public DeviceTest {
 protected:
  Device& device_of(int rank) { return device(rank % machine_->size()); }

  void make_ranks(std::size_t part) {
    part_ = part;
    send_.clear(), recv_.clear(), buffers_.clear(), words_.clear(), streams_.clear();
    for (int rank = 0; rank < ranks_; ++rank) {
      Device& on = device_of(rank);
      send_.push_back(on.allocate(kRanks * part));
      recv_.push_back(filled(on, kRanks * part, constant(0)));
      buffers_.push_back(zeroed(on, kRanks * packet_buffer_bytes(part)));
      words_.push_back(zeroed(on, kRanks * kWordBytes));
      streams_.push_back(on.make_stream());
    }
  }

  Span part(const std::vector<Buffer>& of, int rank, int i) const {
    return of[index(rank)].slice(index(i) * part_, part_);
  }
  // The semaphores at rank `at` that rank `by` writes.
  Span words(int at, int by) const {
    return words_[index(at)].slice(index(by) * kWordBytes, kWordBytes);
  }
  Span buffer(int at, int by) const {
    return buffers_[index(at)].slice(index(by) * packet_buffer_bytes(part_),
                                     packet_buffer_bytes(part_));
  }

  // Part t of every rank goes to rank t, which keeps the parts side by side or reduces them.
  PacketKernel kernel_of(int rank, bool reduces) const {
    PacketKernel kernel{{}, rank,   part(send_, rank, rank), part(recv_, rank, reduces ? 0 : rank),
                        {}, reduces};
    PeerKernel& barrier = kernel.barrier;
    barrier.blocks = kBlocks;
    barrier.dtype = DType::bf16;
    KernelItem reduction;
    for (int other = 0; other < ranks_; ++other) {
      reduction.sources.push_back(part(send_, other, rank));
      if (reduces) continue;
      barrier.items.push_back({{part(send_, rank, other)}, {part(recv_, other, rank)}});
    }
    reduction.destinations = {part(recv_, rank, 0)};
    if (reduces) barrier.items = {reduction};
    for (int other = 0; other < ranks_; ++other) {
      if (other == rank) continue;
      barrier.arrivals.push_back(words(other, rank));
      barrier.awaits.push_back(words(rank, other));
      kernel.peers.push_back({other, part(send_, rank, other), buffer(other, rank),
                              buffer(rank, other), part(recv_, rank, reduces ? 0 : other)});
    }
    return kernel;
  }

  // Runs `rounds` rounds, each with its own contents. Returns each rank's results of all rounds.
  std::vector<Buffer> log_of(int rounds, bool reduces, bool numbered,
                             Fill (*contents)(int round, int rank)) {
    std::vector<std::unique_ptr<PreparedKernel>> prepared;
    std::vector<Buffer> logs;
    for (int rank = 0; rank < ranks_; ++rank) {
      PacketKernel kernel = kernel_of(rank, reduces);
      kernel.numbered = numbered;
      prepared.push_back(device_of(rank).prepare(kernel));
      logs.push_back(device_of(rank).allocate(index(rounds) * kRanks * part_));
    }
    for (int round = 0; round < rounds; ++round) {
      for (int rank = 0; rank < ranks_; ++rank) {
        Stream& stream = *streams_[index(rank)];
        stream.fill(send_[index(rank)].span(), contents(round, rank));
        stream.launch(*prepared[index(rank)]);
        const Span kept = logs[index(rank)].slice(index(round) * kRanks * part_, kRanks * part_);
        stream.copy({kept, recv_[index(rank)].span(), Executor::kernel, {}});
      }
    }
    for (auto& stream : streams_) stream->synchronize(kDeadline);
    return logs;
  }

  static std::string bytes_of(const Span& span) {
    std::string bytes(span.bytes, '\0');
    span.owner->read(span, bytes.data());
    return bytes;
  }

  void expect(const Span& span, const Fill& fill, int round) {
    const auto difference = span.owner->check(span, fill);
    EXPECT_FALSE(difference.has_value())
        << "round " << round << ", " << span.bytes << " bytes, from "
        << (difference ? difference->first_offset : 0);
  }

  // Of rank 0: it waits for packets, and ends when all peers are gone.
  void expect_to_go_on(const PacketKernel& kernel) {
    const auto prepared = device().prepare(kernel);
    streams_[0]->launch(*prepared);
    streams_[0]->launch(*prepared);
    EXPECT_FALSE(streams_[0]->idle());
    for (int by = 1; by < kRanks; ++by) {
      for (std::size_t block = 0; block < kBlocks; ++block) {
        device().signal({words(0, by).slice(block * 8, 8)},
                        std::numeric_limits<std::int64_t>::max());
      }
    }
    streams_[0]->synchronize(kDeadline);
  }

  int ranks_ = kRanks;
  std::size_t part_ = 0;
  std::vector<Buffer> send_, recv_, buffers_, words_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

std::uint64_t seed(int round, int rank) { return static_cast<std::uint64_t>(1000 * round + rank); }

TEST_P(PacketKernels, KeepRoundsOfMovesApart) {
  const auto contents = [](int round, int rank) { return pattern(seed(round, rank)); };
  for (const std::size_t bytes : {1u, 8u, 1003u, 16408u}) {
    make_ranks(bytes);
    const int rounds = bytes > 1000 ? 100 : 300;
    const std::vector<Buffer> logs = log_of(rounds, false, true, contents);
    for (int round = 0; round < rounds; ++round) {
      for (int rank = 0; rank < ranks_; ++rank) {
        for (int from = 0; from < kRanks; ++from) {
          const Span got = part(logs, rank, round * kRanks + from);
          expect(got, pattern(seed(round, from), index(rank) * bytes), round);
        }
      }
    }
  }
}

TEST_P(PacketKernels, KeepRoundsOfReductionsApart) {
  constexpr int kRounds = 100;
  const auto contents = [](int round, int rank) {
    return Fill{FillKind::digits, seed(round, rank), 0, DType::bf16, Reduction::sum, kRanks};
  };
  for (const auto& [bytes, numbered] :
       {std::pair{2u, true}, std::pair{8u, true}, std::pair{1002u, true}, std::pair{16408u, true},
        std::pair{2u, false}, std::pair{1002u, false}, std::pair{16408u, false}}) {
    make_ranks(bytes);
    const std::vector<Buffer> logs = log_of(kRounds, true, numbered, contents);
    for (int round = 0; round < kRounds; ++round) {
      for (int rank = 0; rank < ranks_; ++rank) {
        const Fill sum{FillKind::digits_reduced, seed(round, 0), index(rank) * bytes, DType::bf16,
                       Reduction::sum,           kRanks};
        expect(part(logs, rank, round * kRanks), sum, round);
      }
    }
  }
}

// A NormKernel of all ranks' parts, on one device and without packets, has the same bits.
TEST_P(PacketKernels, NormaliseTheirSums) {
  constexpr int kRounds = 20;
  constexpr std::size_t kColumns = 4096, kRow = 2 * kColumns;
  const auto normal = [](int round, int rank) {
    return Fill{FillKind::normal, seed(round, rank), 0, DType::bf16};
  };
  // 70 rows: some blocks have two. All ranks' blocks fit on a device at once.
  struct Case {
    int ranks;
    std::size_t rows;
    bool numbered;
  };
  constexpr Case kCases[] = {{2, 1, true},      {2, 3, true},  {2, 70, true},  {kRanks, 1, true},
                             {kRanks, 3, true}, {2, 1, false}, {2, 70, false}, {kRanks, 3, false}};
  for (const auto& [ranks, rows, numbered] : kCases) {
    ranks_ = ranks;
    make_ranks(rows * kRow);
    std::vector<Buffer> residuals, updated, weights, logs;
    std::vector<std::unique_ptr<PreparedKernel>> fused, apart;
    for (int rank = 0; rank < ranks_; ++rank) {
      Device& on = device_of(rank);
      residuals.push_back(filled(on, part_, normal(kRounds, rank)));
      updated.push_back(on.allocate(part_));
      weights.push_back(filled(on, kRow, normal(kRounds + 1, rank)));
      logs.push_back(on.allocate(kRounds * part_));
      PacketKernel kernel = kernel_of(rank, true);
      kernel.numbered = numbered;
      kernel.norm = RowNorm{residuals.back().span(), updated.back().span(), weights.back().span(),
                            kColumns, 1e-5F};
      NormKernel alone{{}, kernel.destination, *kernel.norm, DType::bf16};
      for (int from = 0; from < ranks_; ++from) alone.sources.push_back(part(send_, from, rank));
      apart.push_back(on.prepare(alone));
      if (!on.normalises_packets()) {
        EXPECT_THROW(on.prepare(kernel), BadArgument);
        return;
      }
      fused.push_back(on.prepare(kernel));
    }
    for (int round = 0; round < kRounds; ++round) {
      for (int rank = 0; rank < ranks_; ++rank) {
        Stream& stream = *streams_[index(rank)];
        stream.fill(send_[index(rank)].span(), normal(round, rank));
        stream.launch(*fused[index(rank)]);
        const Span kept = logs[index(rank)].slice(index(round) * part_, part_);
        stream.copy({kept, part(recv_, rank, 0), Executor::kernel, {}});
      }
    }
    for (auto& stream : streams_) stream->synchronize(kDeadline);
    for (int round = 0; round < kRounds; ++round) {
      for (int rank = 0; rank < ranks_; ++rank)
        streams_[index(rank)]->fill(send_[index(rank)].span(), normal(round, rank));
      for (auto& stream : streams_) stream->synchronize(kDeadline);
      for (int rank = 0; rank < ranks_; ++rank) streams_[index(rank)]->launch(*apart[index(rank)]);
      for (auto& stream : streams_) stream->synchronize(kDeadline);
      for (int rank = 0; rank < ranks_; ++rank) {
        const Span got = logs[index(rank)].slice(index(round) * part_, part_);
        EXPECT_EQ(bytes_of(got), bytes_of(part(recv_, rank, 0))) << rows << " rows, " << round;
      }
    }
  }
}

// Rounds in turns with the data where they were when kernels were prepared, and elsewhere: at odd
// addresses too, and on each rank by another distance.
TEST_P(PacketKernels, MoveDataThatLieElsewhere) {
  constexpr std::size_t kPart = 1000, kAll = kRanks * kPart;
  make_ranks(kPart);
  std::vector<Buffer> sent, got;
  std::vector<std::unique_ptr<PreparedKernel>> prepared;
  for (int rank = 0; rank < ranks_; ++rank) {
    Device& on = device_of(rank);
    sent.push_back(on.allocate(kAll + kRanks));
    got.push_back(filled(on, kAll + kRanks, constant(0)));
    prepared.push_back(on.prepare(kernel_of(rank, false)));
    if (!prepared.back()->can_shift()) GTEST_SKIP() << "the device's packet kernels stay";
  }
  const auto distance = [](const Span& from, const Span& to) {
    return static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(to.data) -
                                       reinterpret_cast<std::uintptr_t>(from.data));
  };
  for (int round = 0; round < 6; ++round) {
    const bool moved = round % 2 == 1;
    std::vector<Span> results;
    for (int rank = 0; rank < ranks_; ++rank) {
      Span from = send_[index(rank)].span(), to = recv_[index(rank)].span();
      PreparedKernel& kernel = *prepared[index(rank)];
      kernel.shift({});
      if (moved) {
        const Span there = sent[index(rank)].slice(index(rank), kAll);
        const Span back = got[index(rank)].slice(index(kRanks - rank), kAll);
        kernel.shift({distance(from, there), distance(to, back)});
        from = there, to = back;
      }
      streams_[index(rank)]->fill(from, pattern(seed(round, rank)));
      streams_[index(rank)]->launch(kernel);
      results.push_back(to);
    }
    for (auto& stream : streams_) stream->synchronize(kDeadline);
    for (int rank = 0; rank < ranks_; ++rank) {
      for (int from = 0; from < ranks_; ++from)
        expect(results[index(rank)].slice(index(from) * kPart, kPart),
               pattern(seed(round, from), index(rank) * kPart), round);
    }
  }
}

// All bits of the data are 1: the inverted bits would be as if nothing had come.
TEST_P(PacketKernels, BringWhatIsNoNumber) {
  make_ranks(1000);
  const auto ones = [](int, int) { return constant(0xff); };
  for (const Buffer& log : log_of(4, true, false, ones)) {
    std::vector<std::uint16_t> found(log.span().bytes / 2);
    log.span().owner->read(log.span(), found.data());
    for (std::size_t i = 0; i < 500; ++i) EXPECT_GT(found[i] & 0x7fff, 0x7f80) << i;  // bf16 NaNs
  }
}

TEST_P(PacketKernels, GoOnWhenPeersAreGone) {
  make_ranks(32768);  // more packets than kBlocks blocks have threads
  expect_to_go_on(kernel_of(0, false));
}

TEST_P(PacketKernels, GoOnWhenPeersAreGoneWhosePacketsHaveNoNumbers) {
  make_ranks(32768);
  PacketKernel kernel = kernel_of(0, true);
  kernel.numbered = false;
  expect_to_go_on(kernel);
}

TEST_P(PacketKernels, GoOnWhenPeersAreGoneWhoseSumsTheyNormalise) {
  if (!device().normalises_packets()) GTEST_SKIP() << "the device normalises no packets";
  constexpr std::size_t kColumns = 4096, kRow = 2 * kColumns;
  make_ranks(4 * kRow);
  const Buffer rows = filled(device(), part_, constant(0)), weight = device().allocate(kRow);
  PacketKernel kernel = kernel_of(0, true);
  kernel.norm = RowNorm{rows.span(), rows.span(), weight.span(), kColumns, 1e-5F};
  expect_to_go_on(kernel);
}

TEST_P(PacketKernels, RefuseWhatDoesNotFit) {
  make_ranks(64);
  const auto refuse = [&](void (*spoil)(PacketKernel&)) {
    PacketKernel kernel = kernel_of(0, false);
    spoil(kernel);
    EXPECT_THROW(device().prepare(kernel), BadArgument);
  };
  refuse([](PacketKernel& kernel) { kernel.peers.pop_back(); });
  refuse([](PacketKernel& kernel) { kernel.peers[1].rank = 1; });
  refuse([](PacketKernel& kernel) { kernel.rank = kRanks; });
  refuse([](PacketKernel& kernel) { kernel.source = kernel.source.slice(0, 60); });
  refuse([](PacketKernel& kernel) { kernel.destination = kernel.destination.slice(0, 56); });
  refuse([](PacketKernel& kernel) { kernel.numbered = false; });
  refuse([](PacketKernel& kernel) {
    kernel.reduces = true;  // of bf16
    kernel.source = kernel.source.slice(0, 63);
    kernel.destination = kernel.destination.slice(0, 63);
    for (PacketPeer& peer : kernel.peers) {
      peer.source = peer.source.slice(0, 63);
      peer.destination = kernel.destination;
    }
  });
  refuse([](PacketKernel& kernel) {
    kernel.peers[1].from_peer = kernel.peers[1].from_peer.slice(0, 64);
  });
}

DUET_CONFORMANCE(PacketKernels);

}  // namespace
}  // namespace duet::conformance
