#include "device/sim/sim_fixture.h"

namespace duet::sim {
namespace {

class SimKernels : public Sim {
 protected:
  // Seconds that device 0 takes to reduce `sources` into `destination` with `blocks` blocks.
  double seconds(const std::vector<const Buffer*>& sources, const Buffer& destination, int blocks) {
    KernelItem item;
    for (const Buffer* source : sources) item.sources.push_back(source->span());
    item.destinations = {destination.span()};
    const auto prepared =
        device(0).prepare(PeerKernel{{item}, DType::bf16, Reduction::sum, blocks, {}, {}});
    return time(0, [&](Stream& stream) { stream.launch(*prepared); });
  }
};

TEST_F(SimKernels, GrowWithTheirBlocksUntilTheLinkIsFull) {
  open("h200-4");
  const Buffer here = device(0).allocate(kGiB), there = device(1).allocate(kGiB);
  const auto push = [&](int blocks) { return kGiB / 1e9 / seconds({&here}, there, blocks); };
  EXPECT_NEAR(push(1), 23.0, 0.1);
  EXPECT_NEAR(push(8), 8 * 23.0, 0.5);
  EXPECT_NEAR(push(132), 368, 1);
}

// Only the own source is read; a device that cannot add so pulls what it adds to.
TEST_F(SimKernels, AddToAPeerInFlight) {
  for (const char* name : {"h200-4", "mi300x-8"}) {
    open(name);
    const Buffer here = device(0).allocate(kGiB), there = device(1).allocate(kGiB);
    LocalKernel kernel;
    kernel.items = {{{{there.span(), here.span()}, {there.span()}}, {}, {}}};
    kernel.blocks = 16;
    kernel.adds = true;
    const auto prepared = device(0).prepare(kernel);
    const double rate = kGiB / 1e9 / time(0, [&](Stream& stream) { stream.launch(*prepared); });
    EXPECT_EQ(device(0).adds_in_flight(), std::string(name) == "h200-4");
    EXPECT_NEAR(rate, device(0).adds_in_flight() ? 307 : 48, 2) << name;
  }
}

TEST_F(SimKernels, PullFromSeveralPeersAtOnce) {
  open("mi300x-8");
  const Buffer here = device(0).allocate(kGiB), result = device(0).allocate(kGiB);
  const Buffer one = device(1).allocate(kGiB), two = device(2).allocate(kGiB);
  const double of_one = seconds({&here, &one}, result, 300);
  EXPECT_NEAR(seconds({&here, &one, &two}, result, 300) / of_one, 1, 0.01);
}

TEST_F(SimKernels, CountWhatTheyReadAndWrite) {
  open("mi300x-8");
  const Buffer a = device(0).allocate(8 * kGiB), b = device(0).allocate(8 * kGiB);
  const Buffer sum = device(0).allocate(8 * kGiB);
  EXPECT_NEAR(3 * 8 * kGiB / 1e9 / seconds({&a, &b}, sum, 304), 5300 * 0.8, 20);
}

// The simulator skips a reduction whose operands have not changed, but none whose operands have.
TEST_F(SimKernels, SeeChangesOfTheirSources) {
  open("mi300x-8");
  const Buffer a = device(0).allocate(64), b = device(0).allocate(64), sum = device(0).allocate(64);
  const Fill digits{FillKind::digits, 1, 0, DType::bf16, Reduction::sum, 2};
  const auto prepared = device(0).prepare(
      PeerKernel{{{{a.span(), b.span()}, {sum.span()}}}, DType::bf16, Reduction::sum, 1, {}, {}});
  for (std::uint64_t round = 0; round < 3; ++round) {
    time(0, [&](Stream& stream) {
      for (std::uint64_t rank = 0; rank < 2; ++rank) {
        Fill fill = digits;
        fill.seed = 10 * round + rank;
        stream.fill((rank == 0 ? a : b).span(), fill);
      }
      stream.launch(*prepared);
      stream.launch(*prepared);
    });
    const Fill expected{FillKind::digits_reduced, 10 * round, 0, DType::bf16, Reduction::sum, 2};
    EXPECT_FALSE(device(0).check(sum.span(), expected).has_value()) << round;
  }
}

TEST_F(SimKernels, DoNotReachPageableMemory) {
  open("mi300x-8");
  const Buffer pageable = device(0).allocate(64, MemoryKind::pageable),
               here = device(0).allocate(64);
  EXPECT_THROW(device(0).prepare(PeerKernel{
                   {{{pageable.span()}, {here.span()}}}, DType::fp32, Reduction::sum, 0, {}, {}}),
               BadArgument);
}

}  // namespace
}  // namespace duet::sim
