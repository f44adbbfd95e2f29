// Copies on simulated machines: rates, sharing, engines.
#include "device/sim/sim_fixture.h"

namespace duet::sim {
namespace {

TEST_F(Sim, TheSeedsCopyCurveOfMi300xFollowsFromLatencyAndLink) {
  open("mi300x-8");
  double last = 0;
  for (std::uint64_t bytes = 4 * kKiB; bytes <= 2 * kGiB; bytes *= 2) {
    const double gb = rate(bytes, 0, 1, 0, Executor::dma);
    EXPECT_GT(gb, last);
    EXPECT_LT(gb, 50.0) << bytes;
    if (bytes == 64 * kKiB || bytes == 128 * kKiB) {
      EXPECT_GE(gb, 5) << bytes;
      EXPECT_LE(gb, 17) << bytes;
    }
    if (bytes >= 16 * kMiB) {
      EXPECT_GE(gb, 42.5) << bytes;
    }
    last = gb;
  }
  EXPECT_LT(rate(2101346304, 0, 7, 0, Executor::dma), 50.0);
}

TEST_F(Sim, H200PeersGetWhatWasMeasured) {
  open("h200-8");
  const std::uint64_t large = 4 * kGiB;
  EXPECT_NEAR(rate(large, 0, 1, 0, Executor::dma), 391, 1);
  EXPECT_NEAR(rate(large, 0, 1, 1, Executor::dma), 372, 1);  // pulled
  EXPECT_NEAR(rate(large, 2, 5, 2, Executor::kernel), 367.5, 2.5);
}

// The EFA study's two uses of four NICs. A single copy has the rate of all NICs if it is split, and
// of one NIC in round-robin. Many copies together have the rate of all NICs in both uses.
TEST_F(Sim, RailsAreSplitOrTakenInTurns) {
  const auto gbit = [this](const std::string& name, std::size_t buffers) {
    open(name);
    std::vector<Buffer> memory;
    std::vector<std::unique_ptr<Stream>> streams;
    for (std::size_t i = 0; i < buffers; ++i) {
      memory.push_back(device(0).allocate(256 * kMiB));
      memory.push_back(device(8).allocate(256 * kMiB));
      streams.push_back(device(0).make_stream());
    }
    const double begin = machine_->now();
    for (std::size_t i = 0; i < buffers; ++i) {
      streams[i]->copy({memory[2 * i + 1].span(), memory[2 * i].span(), Executor::dma, {}});
    }
    for (const auto& stream : streams) stream->synchronize(kDeadline);
    return 8e-9 * static_cast<double>(buffers * 256 * kMiB) / (machine_->now() - begin);
  };
  EXPECT_NEAR(gbit("p5-48xlarge", 1), 388, 2);
  EXPECT_NEAR(gbit("p5-48xlarge", 8), 388, 2);
  EXPECT_NEAR(gbit("p5-48xlarge:rails=round-robin", 1), 97, 0.5);
  EXPECT_NEAR(gbit("p5-48xlarge:rails=round-robin", 2), 194, 1);
  EXPECT_NEAR(gbit("p5-48xlarge:rails=round-robin", 8), 388, 2);
}

TEST_F(Sim, KernelCopiesGrowWithGridAndBlockUntilTheLinkIsFull) {
  open("h200-4");
  const auto at = [&](int grid, int block) {
    return rate(kGiB, 0, 1, 0, Executor::kernel, {grid, block});
  };
  EXPECT_NEAR(at(1, 1024), 23, 0.1);
  EXPECT_NEAR(at(1, 256), 23.0 / 4, 0.1);
  EXPECT_NEAR(at(8, 1024), 8 * 23.0, 0.5);
  EXPECT_NEAR(at(264, 512), at(132, 1024), 0.5);  // two blocks to a unit
  EXPECT_NEAR(at(132, 1024), 368, 1);
}

TEST_F(Sim, LocalCopiesCountReadingAndWriting) {
  open("mi300x-8");
  EXPECT_NEAR(2 * rate(8 * kGiB, 0, 0, 0, Executor::kernel), 5300 * 0.8, 20);
}

TEST_F(Sim, CopiesByOneWarpPerSmTakeNoUnits) {
  open("h200-4");
  KernelShape one_warp;
  one_warp.one_warp_per_sm = true;
  const double gb = rate(kGiB, 0, 0, 0, Executor::kernel, one_warp);
  EXPECT_NEAR(gb, 300, 10);
  const Task all_units{"all", {1e13, DType::bf16, 0, 0, 1}, {}};
  const Buffer source = device(0).allocate(kGiB), target = device(0).allocate(kGiB);
  const auto copies = device(0).make_stream();
  const double alone = time(0, [&](Stream& stream) { stream.run(all_units); });
  const double beside = time(0, [&](Stream& stream) {
    copies->copy({target.span(), source.span(), Executor::kernel, one_warp});
    stream.run(all_units);
  });
  EXPECT_DOUBLE_EQ(beside, alone);
}

TEST_F(Sim, HostCopiesGoOverTheHostLink) {
  open("h200-4");
  const auto from_host = [&](MemoryKind kind, Executor executor) {
    const Buffer source = device(0).allocate(kGiB, kind), target = device(0).allocate(kGiB);
    return static_cast<double>(kGiB) / 1e9 / time(0, [&](Stream& stream) {
             stream.copy({target.span(), source.span(), executor, {}});
           });
  };
  EXPECT_NEAR(from_host(MemoryKind::pinned, Executor::dma), 55, 0.1);
  EXPECT_NEAR(from_host(MemoryKind::pinned, Executor::kernel), 55, 0.1);
  EXPECT_NEAR(from_host(MemoryKind::pageable, Executor::dma), 10, 0.1);
  EXPECT_NEAR(from_host(MemoryKind::pinned, Executor::host), 12, 0.1);
  EXPECT_THROW(from_host(MemoryKind::pageable, Executor::kernel), BadArgument);
}

// Copies between all ordered pairs at once. In a mesh each pair has a link of its own; with a
// switch the seven copies of a device share its port.
double all_pairs_seconds(Machine& machine, std::uint64_t bytes) {
  const int n = machine.size();
  std::vector<Buffer> buffers;
  std::vector<std::unique_ptr<Stream>> streams;
  const double begin = machine.now();
  for (int from = 0; from < n; ++from) {
    for (int step = 1; step < n; ++step) {
      const int to = (from + step) % n;
      buffers.push_back(machine.device(from).allocate(bytes));
      buffers.push_back(machine.device(to).allocate(bytes));
      streams.push_back(machine.device(from).make_stream());
      streams.back()->copy(
          {buffers.back().span(), buffers[buffers.size() - 2].span(), Executor::dma, {}});
    }
  }
  for (auto& stream : streams) stream->synchronize(kDeadline);
  return machine.now() - begin;
}

TEST_F(Sim, AllPairsShareWhatTheTopologyShares) {
  const double bytes = static_cast<double>(kGiB);
  open("mi300x-8");
  EXPECT_NEAR(all_pairs_seconds(*machine_, kGiB), bytes / 50e9, 1e-4);
  open("h200-8");
  EXPECT_NEAR(all_pairs_seconds(*machine_, kGiB), 7 * bytes / 391e9, 4e-3);
}

TEST_F(Sim, CopiesQueueForDmaEngines) {
  open("h200-4");  // three engines
  const Buffer from = device(0).allocate(kMiB), to = device(1).allocate(kMiB);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 4; ++i) {
    streams.push_back(device(0).make_stream());
    streams.back()->copy({to.slice(0, 0), from.slice(0, 0), Executor::dma, {}});
  }
  for (auto& stream : streams) stream->synchronize(kDeadline);
  EXPECT_DOUBLE_EQ(machine_->now(), 2 * 4e-6);  // three at once, then the fourth
}

}  // namespace
}  // namespace duet::sim
