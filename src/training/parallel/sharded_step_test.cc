#include "training/parallel/sharded_step.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "training/parallel/parallel_fixture.h"

namespace duet {
namespace {

constexpr int kBlocks = 5;  // of several_blocks()

// One rank's shard after two steps.
struct ShardResult {
  float loss = 0;                      // of the second step
  std::vector<Parameters::Kept> kept;  // `about` is of a model that is gone
  std::vector<std::vector<float>> gradients, parameters, moments;
};

// A step of the model, by `pass`, on all sequences of all ranks.
void two_steps(RankModel& own, int ranks, const std::function<void()>& passes) {
  const StepState state{1, 0, 1e-2, 1 / static_cast<double>(ranks)};
  own.stream->device().write(own.model.state(), &state);
  for (int step = 0; step < 2; ++step) {
    passes();
    own.model.update(*own.stream);
  }
  own.stream->synchronize(kParallelDeadline);
}

// Counts calls, and may begin them long after what they need is there.
class ObservedSession : public CollectiveSession {
 public:
  ObservedSession(CollectiveSession& session, bool late) : session_(session), late_(late) {}
  int calls() const { return calls_; }  // of all ranks
  std::optional<Skipped> unsupported(const Collective& collective, bool in_place) const override {
    return session_.unsupported(collective, in_place);
  }

 protected:
  struct ObservedPlan : public CollectivePlan {
    void enqueue(Stream& stream) override {
      ++*calls;
      for (int i = 0; i < 20 && delay; ++i) stream.fill(delay->span(), {FillKind::constant, 0});
      plan->enqueue(stream);
    }
    std::atomic<int>* calls = nullptr;
    std::optional<Buffer> delay;
    std::unique_ptr<CollectivePlan> plan;
  };
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>&) override {
    auto plan = std::make_unique<ObservedPlan>();
    plan->calls = &calls_;
    if (late_) plan->delay = rank.device.allocate(64 << 20);
    plan->plan = session_.plan(rank, collective, buffers);
    return plan;
  }

 private:
  CollectiveSession& session_;
  bool late_;
  std::atomic<int> calls_{0};
};

struct ShardedRun {
  bool keeps_gathered = false, late = false, keeps_parts = false;
  std::int64_t layers = kBlocks;
};

class Sharded : public ParallelTest {
 protected:
  std::vector<ShardResult> run(const ShardedRun& how) {
    GptConfig config = several_blocks(kRankBatch);
    config.layers = how.layers;
    Team team(*machine_);
    const auto opened = engine().open(team);
    ObservedSession session(*opened, how.late);
    std::vector<ShardResult> results(static_cast<std::size_t>(team.size()));
    team.each([&](Rank& rank) {
      ShardResult& result = results[static_cast<std::size_t>(rank.index)];
      RankModel own(rank.device, config, rank.index * kRankBatch,
                    Shard{rank.index, rank.size, how.keeps_gathered, how.keeps_parts});
      ShardedStep step(rank, session, own.model, {});
      rank.team.barrier("all ranks to have plans");
      two_steps(own, rank.size, [&] {
        step.forward(*own.stream);
        step.backward(*own.stream, Accumulate::no);
      });
      result.loss = values_on(rank.device, own.model.loss()).front();
      result.kept = own.model.parameters().kept();
      for (const Parameters::Kept& each : result.kept) {
        result.gradients.push_back(values_on(rank.device, each.tensors.gradients));
        result.parameters.push_back(values_on(rank.device, each.tensors.parameters));
        result.moments.push_back(values_on(rank.device, each.tensors.second_moments));
      }
      rank.team.barrier("all ranks to have read their shards");
    });
    calls_of_a_step_ = session.calls() / team.size() / 2;
    return results;
  }

  int calls_of_a_step_ = 0;  // of one rank, of the last run
};

std::size_t differences(const std::vector<float>& shard, const std::vector<float>& whole,
                        std::int64_t first, float factor, float tolerance) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < shard.size(); ++i) {
    const float difference = factor * shard[i] - whole[static_cast<std::size_t>(first) + i];
    wrong += std::abs(difference) <= tolerance ? 0 : 1;  // NaN is wrong
  }
  return wrong;
}

// Every element is kept by one rank, and is what it is on one device with all batches.
void expect_steps_of(const RankModel& whole, const std::vector<ShardResult>& results) {
  Device& device = whole.stream->device();
  const std::vector<Parameters::Kept> all = whole.model.parameters().kept();
  std::vector<std::int64_t> kept(all.size());
  // AdamW divides by the gradient's magnitude, so that small ones that differ move parameters more.
  const float of_gradients = device.info().kind == "host" ? 1e-5F : 1e-4F;
  const float of_parameters = 10 * of_gradients;
  double loss = 0;
  for (const ShardResult& result : results) {
    loss += static_cast<double>(result.loss) / static_cast<double>(results.size());
    for (std::size_t i = 0; i < result.kept.size(); ++i) {
      const Parameters::Kept& own = result.kept[i];
      const OptimizerTensors& expected = all[own.parameter].tensors;
      EXPECT_EQ(kept[own.parameter], own.first) << all[own.parameter].about->name;
      kept[own.parameter] += own.tensors.parameters.count();
      const auto wrong = [&](const std::vector<float>& shard, const Tensor& tensor, float factor,
                             float tolerance) {
        return differences(shard, values_on(device, tensor), own.first, factor, tolerance);
      };
      const float mean = 1 / static_cast<float>(results.size());
      EXPECT_EQ(wrong(result.gradients[i], expected.gradients, mean, of_gradients), 0u)
          << all[own.parameter].about->name;
      EXPECT_EQ(wrong(result.parameters[i], expected.parameters, 1, of_parameters), 0u)
          << all[own.parameter].about->name;
      EXPECT_EQ(wrong(result.moments[i], expected.second_moments, 1, 1e-6F), 0u)
          << all[own.parameter].about->name;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(kept[i], all[i].about->count());
  EXPECT_NEAR(loss, static_cast<double>(values_on(device, whole.model.loss()).front()), 1e-4);
}

TEST_P(Sharded, StepsAreThoseOfTheWholeModel) {
  const int ranks = machine_->size();
  Device& device = machine_->device(0);
  RankModel whole(device, several_blocks(kRankBatch * ranks), 0);
  two_steps(whole, 1, [&] {
    whole.model.forward(*whole.stream);
    whole.model.backward(*whole.stream, Accumulate::no);
  });
  for (const bool keeps : {false, true}) {
    SCOPED_TRACE(keeps ? "blocks stay gathered, gradients are summed late"
                       : "blocks are gathered twice, gradients summed beside the backward pass");
    expect_steps_of(whole, run({keeps, false, keeps}));
    const int units = kBlocks + 2;  // tables, blocks, and what stands behind them
    EXPECT_EQ(calls_of_a_step_, 2 * units + (keeps ? 0 : kBlocks - 2));
  }
}

// What a step without communication computes with.
TEST(ShardedBuffers, BeginAsTheLastBlocksThatUseThem) {
  const auto machine = open_machine("host:1");
  Device& device = machine->device(0);
  const RankModel whole(device, several_blocks(1), 0),
      shard(device, several_blocks(1), 0, Shard{1, 2});
  const Parameters& parameters = shard.model.parameters();
  int block = 0, compared = 0;
  for (const Parameters::Unit& unit : parameters.units()) {
    if (unit.block && ++block + 2 <= kBlocks) continue;
    for (std::size_t i = unit.range.first; i < unit.range.last; ++i, ++compared) {
      EXPECT_EQ(values_on(device, parameters.weight(i)),
                values_on(device, whole.model.parameters().weight(i)))
          << parameters.all()[i].about.name;
    }
  }
  EXPECT_EQ(block, kBlocks);
  EXPECT_GT(compared, 0);
}

// On a simulated machine, where a delay is as long as it should be. With few blocks, no block is
// gathered after the parameters that follow the blocks.
TEST_P(Sharded, WaitForCallsThatAreLate) {
  if (!machine_->is_virtual()) GTEST_SKIP() << "takes long";
  for (const std::int64_t layers : {5, 2, 1}) {
    const auto expected = run({false, false, false, layers});
    for (const bool keeps : {false, true}) {
      const auto late = run({keeps, true, keeps, layers});
      for (std::size_t rank = 0; rank < expected.size(); ++rank) {
        EXPECT_TRUE(late[rank].parameters == expected[rank].parameters) << layers << ' ' << keeps;
      }
    }
  }
}

TEST_P(Sharded, RepeatToTheBit) {
  const auto once = run({}), again = run({});
  for (std::size_t rank = 0; rank < once.size(); ++rank) {
    EXPECT_TRUE(once[rank].parameters == again[rank].parameters);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Sharded, parallel_machines(), parallel_label);

}  // namespace
}  // namespace duet
