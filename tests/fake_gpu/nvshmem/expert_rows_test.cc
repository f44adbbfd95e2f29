// Rows go to their experts and back by NVSHMEM, over the fake library.
#include <gtest/gtest.h>

#include "collectives/nvshmem/engine.h"
#include "device/machine.h"
#include "fake_gpu/nvshmem/fake.h"
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

INSTANTIATE_TEST_SUITE_P(Ways, NvshmemExchanges,
                         ::testing::Values(nvshmem::Initiation::stream, nvshmem::Initiation::block,
                                           nvshmem::Initiation::grid));

}  // namespace
}  // namespace duet
