// Which backward pass of an engine's attention is taken, with an engine whose passes take known
// time.
#include "training/gpu/attention.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "core/error.h"
#include "device/machine.h"

namespace duet::cuda {
namespace {

using std::chrono::milliseconds;

// The only shape that the engine takes: other tests of this program do not have it.
constexpr AttentionShape kShape{1, 3, 1, 248};

struct EngineState {
  milliseconds deterministic{0}, other{0};  // of a backward pass
  bool has_room = true;                     // for a deterministic plan
  std::vector<bool> planned = {};           // deterministic?
  std::vector<bool> backward_by = {};       // likewise
};
EngineState state;

class TimedPlan : public AttentionPlan {
 public:
  explicit TimedPlan(bool deterministic) : deterministic_(deterministic) {}
  void forward(Stream&, const AttentionTensors&) override {}
  void backward(Stream& stream, const AttentionTensors&, const Tensor&, const Tensor&) override {
    state.backward_by.push_back(deterministic_);
    const milliseconds time = deterministic_ ? state.deterministic : state.other;
    stream.run({"backward", {}, [time] { std::this_thread::sleep_for(time); }});
  }
  std::uint64_t workspace_bytes() const override { return deterministic_ ? 100 : 1; }

 private:
  bool deterministic_;
};

class TimedEngine : public AttentionEngine {
 public:
  std::string name() const override { return "timed"; }
  std::string device_kind() const override { return "host"; }
  std::optional<Skipped> unsupported(Device&, const AttentionShape& shape, DType) const override {
    if (shape.head_dim == kShape.head_dim) return std::nullopt;
    return Skipped{"another shape"};
  }
  std::unique_ptr<AttentionPlan> plan(Device&, const AttentionShape&, DType,
                                      bool deterministic) override {
    if (deterministic && !state.has_room) throw OutOfMemory("no room");
    state.planned.push_back(deterministic);
    return std::make_unique<TimedPlan>(deterministic);
  }
};

class AttentionChoice : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_attention_engine(std::make_unique<TimedEngine>()); }

  // A backward pass whose choice has been made, by whom: deterministic?
  bool backward_by(GpuAttention& attention) {
    AttentionTensors tensors;
    tensors.shape = kShape;
    attention.forward(*stream_, tensors);
    attention.backward(*stream_, tensors, {}, {});  // chooses
    state.backward_by.clear();
    attention.backward(*stream_, tensors, {}, {});
    stream_->synchronize(60);
    EXPECT_EQ(1u, state.backward_by.size());
    return state.backward_by.front();
  }

  std::unique_ptr<Machine> machine_ = open_machine("host");
  std::unique_ptr<Stream> stream_ = machine_->device(0).make_stream();
};

TEST_F(AttentionChoice, DeterministicIsNeverTheOther) {
  state = {milliseconds(5), milliseconds(0)};
  GpuAttention attention(machine_->device(0), true);
  EXPECT_TRUE(backward_by(attention));
  EXPECT_EQ(std::vector<bool>{true}, state.planned);
  EXPECT_EQ("timed", attention.note());
}

TEST_F(AttentionChoice, OtherwiseTheFasterOneIsTaken) {
  for (const bool deterministic_is_faster : {true, false}) {
    state = {milliseconds(deterministic_is_faster ? 0 : 5),
             milliseconds(deterministic_is_faster ? 5 : 0)};
    GpuAttention attention(machine_->device(0), false);
    EXPECT_EQ(deterministic_is_faster, backward_by(attention));
    EXPECT_EQ(deterministic_is_faster ? 100u : 1u, attention.workspace_bytes());
    EXPECT_EQ(deterministic_is_faster, attention.note() == "timed") << attention.note();
  }
}

TEST_F(AttentionChoice, WithoutRoomForTheDeterministicOneTheOtherIsTaken) {
  state = {milliseconds(0), milliseconds(5), false};
  GpuAttention attention(machine_->device(0), false);
  EXPECT_FALSE(backward_by(attention));
}

}  // namespace
}  // namespace duet::cuda
