// Rows go to their experts and back by NVSHMEM, over the fake library.
#include <gtest/gtest.h>

#include "collectives/nvshmem/engine.h"
#include "core/error.h"
#include "core/message_fixture.h"
#include "device/machine.h"
#include "fake_gpu/nvshmem/fake.h"
#include "moe/cases.h"
#include "moe/moe_work.h"
#include "timing/sampler.h"
#include "timing/short_mode_fixture.h"

namespace duet {
namespace {

MoeShape small_layer(int ranks) {
  MoeShape shape;
  shape.part = "test";
  shape.hidden = 48;
  shape.width = 40;
  shape.experts = 4 * ranks;
  shape.chosen = 3;
  shape.tokens = 21;
  shape.dtype = DType::fp32;
  return shape;
}

class NvshmemExchanges : public ::testing::TestWithParam<nvshmem::Initiation> {};

TEST_P(NvshmemExchanges, BringRowsToTheirExpertsAndBack) {
  const auto machine = open_machine("host:3");
  Team team(*machine);
  const auto engine = nvshmem::make_engine(nvshmem::fake_calls(), GetParam(), "host");
  const auto session = engine->open(team);
  for (const char* routing : {"uniform", "hot:4"}) {  // hot: two ranks have few rows, or none
    const MoeRoutings routings(parse_token_routing(routing), small_layer(3), 2, team);
    for (const ExchangeKind kind : {ExchangeKind::per_rank, ExchangeKind::per_expert}) {
      for (const MoeCounts counts : {MoeCounts::known, MoeCounts::host}) {
        Tuning tuning;
        tuning.seconds = 0.01;
        MoeWork work(team, routings, {session.get(), kind, MoeOverlap::none, {}, counts}, tuning);
        EXPECT_TRUE(Sampler(team).measure(work, short_mode(2)).verified)
            << routing << " " << name(kind) << " " << name(counts);
      }
    }
  }
}

// NVSHMEM reduces nothing, as all-gather must: auto takes another engine, and a case of its own is
// left out with the reason.
TEST(NvshmemExchanges, LeaveOutWhatMustReduce) {
  register_collective_engine(
      nvshmem::make_engine(nvshmem::fake_calls(), nvshmem::Initiation::stream, "host"));
  const auto machine = open_machine("host:2");
  MoeOptions options;
  options.shapes = {small_layer(2)};
  options.routings = {parse_token_routing("uniform")};
  options.engines = {"nvshmem", kFastestExchange, "dma"};
  options.exchanges = {ExchangeKind::all_gather};
  options.device_name = "host:2";
  options.mode = short_mode(2);
  options.tuning_seconds = 0.01;
  const Benchmark benchmark = moe_benchmark(*machine, options, {});
  ASSERT_EQ(benchmark.cases.size(), 3u);
  EXPECT_EQ(message_of<Unavailable>([&] { benchmark.cases[0].run(); }),
            "by NVSHMEM Duet runs all_gather, all_to_all and all_to_all_v, not reduce_scatter");
  EXPECT_TRUE(benchmark.cases[1].run().sampling->verified);
  benchmark.conclude({});
}

INSTANTIATE_TEST_SUITE_P(Ways, NvshmemExchanges,
                         ::testing::Values(nvshmem::Initiation::stream, nvshmem::Initiation::block,
                                           nvshmem::Initiation::grid));

}  // namespace
}  // namespace duet
