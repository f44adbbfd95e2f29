// Verification of every collective on every engine of every device, and detection of engines that
// damage one place each.
#include <gtest/gtest.h>

#include <algorithm>

#include "collectives/collective_work.h"
#include "collectives/cost.h"
#include "collectives/skew.h"
#include "core/error.h"
#include "core/label_fixture.h"
#include "core/message_fixture.h"
#include "timing/sampler.h"
#include "timing/short_mode_fixture.h"

namespace duet {
namespace {

Collective of(CollectiveKind kind, DType dtype, Reduction op, int ranks) {
  Collective c;
  c.kind = kind;
  c.dtype = dtype;
  c.op = op;
  c.count = 1003;
  c.root = ranks - 1;
  if (kind == CollectiveKind::all_to_all_v)
    c.counts = skewed_counts(Skew::random, dtype, 40000, ranks);
  return c;
}

CollectiveEngine& engine_named(const std::string& name, const std::string& device_kind = "host") {
  for (CollectiveEngine* engine : collective_engines(device_kind).engines) {
    if (engine->name() == name) return *engine;
  }
  throw Unavailable("no engine " + name);
}
CollectiveEngine& host_engine() { return engine_named("host"); }

struct Setting {
  std::string engine;
  std::string device;
};

class CollectiveWorkTest : public ::testing::TestWithParam<Setting> {
 protected:
  void measure(CollectiveSession& session, const Collective& collective, bool in_place) {
    CollectiveWork work(team_, session, collective, in_place);
    const Sampling s = Sampler(team_).measure(work, short_mode(3, 20));
    EXPECT_TRUE(s.verified);
    EXPECT_EQ(work.enqueue_seconds().size(), static_cast<std::size_t>(team_.size()));
  }

  std::unique_ptr<Machine> machine_ = open_machine(GetParam().device);
  Team team_{*machine_};
};

TEST_P(CollectiveWorkTest, EveryCollectiveIsRight) {
  const auto session = engine_named(GetParam().engine, machine_->device(0).info().kind).open(team_);
  for (const CollectiveKind kind : all_collectives()) {
    for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::int32, DType::int8}) {
      if (reduces(kind) && dtype == DType::int8) continue;
      for (const Reduction op : all_reductions()) {
        if (!reduces(kind) && op != Reduction::sum) continue;
        for (const bool in_place : {false, true}) {
          if (in_place && !has_in_place(kind)) continue;
          const Collective collective = of(kind, dtype, op, team_.size());
          if (session->unsupported(collective, in_place)) continue;
          SCOPED_TRACE(std::string(name(kind)) + " " + std::string(name(dtype)) + " " +
                       std::string(name(op)) + (in_place ? " in place" : ""));
          ASSERT_NO_THROW(measure(*session, collective, in_place));
        }
      }
    }
  }
}

TEST_P(CollectiveWorkTest, CapturedCallsAreRight) {
  const auto session = engine_named(GetParam().engine, machine_->device(0).info().kind).open(team_);
  for (const CollectiveKind kind : all_collectives()) {
    for (const bool in_place : {false, true}) {
      if (in_place && !has_in_place(kind)) continue;
      const Collective collective = of(kind, DType::bf16, Reduction::sum, team_.size());
      if (session->unsupported(collective, in_place)) continue;
      SCOPED_TRACE(std::string(name(kind)) + (in_place ? " in place" : ""));
      CollectiveWork work(team_, *session, collective, in_place, true, {2, 3});
      EXPECT_EQ(work.calls(), 6);
      if (session->uncapturable()) {
        EXPECT_THROW(Sampler(team_).measure(work, short_mode(3, 20)), Unavailable);
        continue;
      }
      EXPECT_TRUE(Sampler(team_).measure(work, short_mode(3, 20)).verified);
    }
  }
}

// A stream's queue takes 500 copies, and one rank's launches have 600: of one enqueue(), and of
// 200.
TEST(CollectiveWorkGraph, LaunchesMayBeMoreThanAStreamsQueueTakes) {
  for (const auto& [graph, enqueues] :
       {std::pair(GraphUse{2, 300}, 1), std::pair(GraphUse{1, 10}, 64)}) {
    const auto machine = open_machine("host:2:queue=500");
    Team team(*machine);
    const auto session = engine_named("dma").open(team);
    const Collective collective = of(CollectiveKind::all_gather, DType::fp32, Reduction::sum, 2);
    CollectiveWork work(team, *session, collective, true, true, graph);
    Mode mode = loop_mode();
    mode.warm_up_iterations = 1;
    mode.iterations = enqueues;
    mode.min_iterations = mode.max_iterations = 1;
    EXPECT_TRUE(Sampler(team).measure(work, mode).verified) << enqueues;
  }
}

std::string label(const ::testing::TestParamInfo<Setting>& setting) {
  return test_label(setting.param.engine + "_" + setting.param.device);
}

INSTANTIATE_TEST_SUITE_P(Settings, CollectiveWorkTest,
                         ::testing::ValuesIn(std::vector<Setting>{{"host", "host:1"},
                                                                  {"host", "host:2"},
                                                                  {"host", "host:3"},
                                                                  {"host", "host:4"},
                                                                  {"dma", "host:1"},
                                                                  {"dma", "host:2"},
                                                                  {"dma", "host:3"},
                                                                  {"dma", "host:5"},
                                                                  {"dma", "host:8"},
                                                                  {"dma", "sim:h200-4"},
                                                                  {"dma", "sim:mi300x-8"},
                                                                  {"kernel", "host:1"},
                                                                  {"kernel", "host:2"},
                                                                  {"kernel", "host:5"},
                                                                  {"kernel", "host:8"},
                                                                  {"kernel", "sim:h200-4"},
                                                                  {"auto", "host:3"},
                                                                  {"auto", "sim:mi300x-8"},
                                                                  {"vendor-model", "sim:mi300x-8"},
                                                                  {"vendor-model", "sim:h200-4"}}),
                         label);

// Runs the CPU's plan and then damages a byte of rank 1.
enum class Damage { result, input, before, behind };

class DamagedPlan : public CollectivePlan {
 public:
  DamagedPlan(std::unique_ptr<CollectivePlan> sound, const CollectiveBuffers& buffers,
              Damage damage)
      : sound_(std::move(sound)), buffers_(buffers), damage_(damage) {}
  void enqueue(Stream& stream) override {
    sound_->enqueue(stream);
    stream.run({"damage", {}, [this] {
                  std::byte& byte = *place();
                  byte = ~byte;
                }});
  }

 private:
  std::byte* place() const {
    switch (damage_) {
      case Damage::result:
        return buffers_.recv.data + 5;
      case Damage::input:
        return buffers_.send.data + buffers_.send.bytes - 1;
      case Damage::before:
        return buffers_.recv.data - 256;
      case Damage::behind:
        return buffers_.send.data + buffers_.send.bytes;
    }
    return nullptr;
  }
  std::unique_ptr<CollectivePlan> sound_;
  CollectiveBuffers buffers_;
  Damage damage_;
};

class DamagingSession : public CollectiveSession {
 public:
  DamagingSession(Team& team, Damage damage) : sound_(host_engine().open(team)), damage_(damage) {}
  std::optional<Skipped> unsupported(const Collective&, bool) const override { return {}; }

 protected:
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>&) override {
    auto plan = sound_->plan(rank, collective, buffers);
    if (rank.index != 1) return plan;
    return std::make_unique<DamagedPlan>(std::move(plan), buffers, damage_);
  }

 private:
  std::unique_ptr<CollectiveSession> sound_;
  Damage damage_;
};

TEST(CollectiveWork, DamageAnywhereIsFound) {
  const auto machine = open_machine("host:3");
  Team team(*machine);
  for (const Damage damage : {Damage::result, Damage::input, Damage::before, Damage::behind}) {
    for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_reduce}) {
      DamagingSession session(team, damage);
      CollectiveWork work(team, session, of(kind, DType::fp32, Reduction::sum, 3), false);
      EXPECT_THROW(Sampler(team).measure(work, short_mode(3, 20)), Mismatch)
          << name(kind) << " " << static_cast<int>(damage);
    }
  }
}

TEST(CollectiveWork, SaysWhatIsWrong) {
  const auto machine = open_machine("host:2");
  Team team(*machine);
  DamagingSession session(team, Damage::result);
  CollectiveWork work(team, session, of(CollectiveKind::all_reduce, DType::fp32, Reduction::sum, 2),
                      true);
  EXPECT_EQ(message_of<Mismatch>([&] { Sampler(team).measure(work, short_mode(3, 20)); }),
            "all_reduce on rank 1: 1 of 1003 elements of what it received are wrong, the first "
            "at byte 4");
}

TEST(CollectiveWork, CountsWhatTravels) {
  const auto machine = open_machine("host:4");
  Team team(*machine);
  const auto session = host_engine().open(team);
  CollectiveWork work(team, *session,
                      of(CollectiveKind::all_gather, DType::fp32, Reduction::sum, 4), false);
  const Cost least = work.cost();
  EXPECT_DOUBLE_EQ(least.wire_bytes, 4 * 3 * 1003 * 4);
  EXPECT_DOUBLE_EQ(least.more.value(kAlgorithmBytes), 4 * 1003 * 4);
  EXPECT_DOUBLE_EQ(least.more.value(kBusBytes), 3 * 1003 * 4);
  EXPECT_FALSE(least.more.contains(kBusiestWireBytes));
  Sampler(team).measure(work, short_mode(3, 20));
  EXPECT_DOUBLE_EQ(work.cost().wire_bytes, least.wire_bytes);
  EXPECT_DOUBLE_EQ(work.cost().more.value(kBusiestWireBytes), 3 * 1003 * 4);
}

// Measures in virtual time. Buffers without contents are measured but not verified.
TEST(CollectiveWork, RunsOnASimulatedMachine) {
  const auto machine = open_machine("sim:h200-4");
  Team team(*machine);
  const auto session = host_engine().open(team);
  for (const CollectiveKind kind :
       {CollectiveKind::all_to_all, CollectiveKind::reduce_scatter, CollectiveKind::broadcast}) {
    CollectiveWork work(team, *session, of(kind, DType::bf16, Reduction::avg, 4), false);
    EXPECT_TRUE(Sampler(team).measure(work, short_mode(3, 20)).verified) << name(kind);
  }
  Collective large = of(CollectiveKind::scatter, DType::fp32, Reduction::sum, 4);
  large.count = 2 << 20;  // the root's buffer is too large to have contents; the others' are not
  CollectiveWork work(team, *session, large, true);
  const Sampling unchecked = Sampler(team).measure(work, short_mode(3, 20));
  EXPECT_FALSE(unchecked.verified);
  EXPECT_EQ(unchecked.warnings.size(), 1u);
}

TEST(CollectiveWork, RanksThatAskForDifferentThingsAreTold) {
  const auto machine = open_machine("host:2");
  Team team(*machine);
  const auto session = host_engine().open(team);
  const auto plan = [&](Rank& rank) {
    Collective c = of(CollectiveKind::all_gather, DType::fp32, Reduction::sum, 2);
    c.count += static_cast<std::uint64_t>(rank.index);
    const Buffer send = rank.device.allocate(send_bytes(c, rank.index, 2));
    const Buffer recv = rank.device.allocate(recv_bytes(c, rank.index, 2));
    session->plan(rank, c, {send.span(), recv.span()});
  };
  EXPECT_THROW(team.each(plan), BadArgument);
}

}  // namespace
}  // namespace duet
