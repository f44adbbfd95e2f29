// Peer kernels: kernels of several devices, with barriers.
#include "kernels.h"

namespace duet::conformance {
namespace {

// All devices of a machine, each with semaphores that the others write.
class PeerKernels : public Kernels {
 protected:
  static constexpr int kBlocks = 4;
  static constexpr std::size_t kWordBytes = kBlocks * sizeof(std::uint64_t);

  int size() const { return machine_->size(); }

  void make_words() {
    for (int i = 0; i < size(); ++i) {
      words_.push_back(zeroed(device(i), kWordBytes * static_cast<std::size_t>(size())));
    }
  }

  // The semaphores at device `at` that device `by` writes.
  Span words(int at, int by) const {
    return words_[static_cast<std::size_t>(at)].slice(kWordBytes * static_cast<std::size_t>(by),
                                                      kWordBytes);
  }

  PeerKernel peer_kernel(int rank) const {
    PeerKernel kernel;
    kernel.blocks = kBlocks;
    for (int i = 0; i < size(); ++i) {
      if (i == rank) continue;
      kernel.arrivals.push_back(words(i, rank));
      kernel.awaits.push_back(words(rank, i));
    }
    return kernel;
  }

  std::vector<Buffer> words_;
};

// Every rank reduces the inputs of all ranks, in many rounds with new inputs. A rank that started
// too early would read the previous round's input; if one ended too early, its input would be
// overwritten while others read it.
TEST_P(PeerKernels, KeepRoundsApart) {
  make_words();
  constexpr std::size_t kCount = 20000;
  constexpr int kRounds = 200;
  std::vector<Buffer> from, to, results;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<PreparedKernel>> prepared;
  for (int i = 0; i < size(); ++i) {
    from.push_back(device(i).allocate(kCount * 4));
    to.push_back(device(i).allocate(kCount * 4));
    results.push_back(device(i).allocate(kCount * 4 * kRounds));
    streams.push_back(device(i).make_stream());
  }
  for (int i = 0; i < size(); ++i) {
    PeerKernel kernel = peer_kernel(i);
    KernelItem item;
    for (const Buffer& each : from) item.sources.push_back(each.span());
    item.destinations = {to[static_cast<std::size_t>(i)].span()};
    kernel.items = {item};
    kernel.dtype = DType::int32;
    prepared.push_back(device(i).prepare(kernel));
  }
  const auto seed = [&](int round, int rank) {
    return static_cast<std::uint64_t>(1000 * round + rank);
  };
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      streams[i]->fill(from[i].span(),
                       digits(DType::int32, size(), seed(round, static_cast<int>(i))));
      streams[i]->launch(*prepared[i]);
      const Span keep = results[i].slice(kCount * 4 * static_cast<std::size_t>(round), kCount * 4);
      streams[i]->copy({keep, to[i].span(), Executor::kernel, {}});
    }
  }
  for (auto& stream : streams) stream->synchronize(kDeadline);
  for (const Buffer& result : results) {
    for (int round = 0; round < kRounds; ++round) {
      const Span kept = result.slice(kCount * 4 * static_cast<std::size_t>(round), kCount * 4);
      const bool one = size() == 1;
      expect(kept, one ? digits(DType::int32, 1, seed(round, 0))
                       : reduced(DType::int32, Reduction::sum, size(), seed(round, 0)));
    }
  }
}

// Data pushed to a peer have arrived when the peer's own kernel ends.
TEST_P(PeerKernels, EndWhenPeersHaveWritten) {
  if (!two_devices()) GTEST_SKIP() << "one device";
  make_words();
  constexpr std::size_t kBytes = 3 << 20;
  std::vector<Buffer> from, to;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<PreparedKernel>> prepared;
  for (int i = 0; i < size(); ++i) {
    from.push_back(filled(device(i), kBytes, pattern(static_cast<std::uint64_t>(i))));
    to.push_back(filled(device(i), kBytes, constant(0)));
    streams.push_back(device(i).make_stream());
  }
  for (int i = 0; i < size(); ++i) {
    const std::size_t right = static_cast<std::size_t>((i + 1) % size());
    PeerKernel kernel = peer_kernel(i);
    kernel.items = {{{from[static_cast<std::size_t>(i)].span()}, {to[right].span()}}};
    prepared.push_back(device(i).prepare(kernel));
  }
  for (std::size_t i = 0; i < streams.size(); ++i) streams[i]->launch(*prepared[i]);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    streams[i]->synchronize(kDeadline);
    const std::size_t left = (i + streams.size() - 1) % streams.size();
    expect(to[i].span(), pattern(left));
  }
}

// One kernel makes more copies at once than a block has warps, with different sizes and alignments.
TEST_P(PeerKernels, MakeManyMovesSideBySide) {
  if (!two_devices()) GTEST_SKIP() << "one device";
  make_words();
  constexpr std::size_t kMoves = 31, kRoom = 200000;
  std::vector<Buffer> from, to;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<PreparedKernel>> prepared;
  const auto bytes = [](std::size_t move) { return move * move * 199 % kRoom; };
  for (int i = 0; i < size(); ++i) {
    from.push_back(filled(device(i), kMoves * kRoom, pattern(static_cast<std::uint64_t>(i))));
    to.push_back(filled(device(i), kMoves * kRoom, constant(0)));
    streams.push_back(device(i).make_stream());
  }
  for (int i = 0; i < size(); ++i) {
    PeerKernel kernel = peer_kernel(i);
    const std::size_t right = static_cast<std::size_t>((i + 1) % size());
    for (std::size_t move = 0; move < kMoves; ++move) {
      kernel.items.push_back({{from[static_cast<std::size_t>(i)].slice(move * kRoom, bytes(move))},
                              {to[right].slice(move * kRoom + move % 3, bytes(move))}});
    }
    prepared.push_back(device(i).prepare(kernel));
  }
  for (std::size_t i = 0; i < streams.size(); ++i) streams[i]->launch(*prepared[i]);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    streams[i]->synchronize(kDeadline);
    const std::size_t left = (i + streams.size() - 1) % streams.size();
    for (std::size_t move = 0; move < kMoves; ++move) {
      expect(to[i].slice(move * kRoom + move % 3, bytes(move)), pattern(left, move * kRoom));
    }
  }
}

TEST_P(PeerKernels, GoOnWhenThePeerIsGone) {
  if (!two_devices()) GTEST_SKIP() << "one device";
  make_words();
  const auto prepared = device().prepare(peer_kernel(0));
  auto stream = device().make_stream();
  stream->launch(*prepared);
  EXPECT_FALSE(stream->idle());
  for (int by = 1; by < size(); ++by) {
    for (int block = 0; block < kBlocks; ++block) {
      const Span word = words(0, by).slice(static_cast<std::size_t>(block) * 8, 8);
      device().signal({word}, ~std::uint64_t{0});
    }
  }
  stream->synchronize(kDeadline);
}

DUET_CONFORMANCE(PeerKernels);

}  // namespace
}  // namespace duet::conformance
