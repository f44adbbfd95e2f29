// What operations cost on a simulated device, and the part of a step that their time goes to.
#include "training/operations/timed_operations.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "device/machine.h"
#include "team/team.h"

namespace duet {
namespace {

// On a simulated GPU, whose memory moves 4.8 TB/s, of which 0.88 arrive.
class SimulatedOperations : public ::testing::Test {
 protected:
  using Call = std::function<void(TimedOperations&, Stream&)>;

  Tensor tensor(std::int64_t rows, std::int64_t columns, DType dtype = DType::bf16) {
    Tensor made{{}, rows, columns, dtype};
    buffers_.push_back(device_.allocate(made.bytes()));
    made.span = buffers_.back().span();
    return made;
  }

  // Expects the call to move so many bytes, and its time in one part of the step.
  void expect(const char* what, StepPart part, double bytes, const Call& call) {
    team_.each([&](Rank& rank) {
      TimedOperations operations(rank.device);
      const auto stream = rank.device.make_stream();
      const auto seconds = operations.time(*stream, [&] { call(operations, *stream); });
      double sum = 0;
      for (const double each : seconds) sum += each;
      EXPECT_EQ(seconds[static_cast<std::size_t>(part)], sum) << what;
      EXPECT_NEAR(sum * 4.8e12 * 0.88, bytes, 0.1 * bytes) << what;
    });
  }

  std::unique_ptr<Machine> machine_ = open_machine("sim:h200:devices=1");
  Device& device_ = machine_->device(0);
  Team team_{*machine_, {0}};
  std::vector<Buffer> buffers_;
};

TEST_F(SimulatedOperations, MoveTheirTensors) {
  constexpr std::int64_t kTokens = 16384;
  const Tensor x = tensor(kTokens, 4096), y = tensor(kTokens, 4096), weight = tensor(1, 4096),
               inverse = tensor(1, kTokens, DType::fp32), wide = tensor(kTokens, 8192);
  const auto one = static_cast<double>(x.bytes());
  const RmsNormTensors norm{x, weight, inverse, weight};
  expect("rms norm", StepPart::norm, 2 * one,
         [&](auto& on, auto& stream) { on.rms_norm(stream, norm, y); });
  expect("rms norm backward", StepPart::norm, 4 * one, [&](auto& on, auto& stream) {
    on.rms_norm_backward(stream, norm, x, y, Accumulate::yes, Accumulate::no);
  });
  expect("swiglu", StepPart::elementwise, 3 * one,
         [&](auto& on, auto& stream) { on.swiglu(stream, wide, y); });
  expect("swiglu backward", StepPart::elementwise, 5 * one,
         [&](auto& on, auto& stream) { on.swiglu_backward(stream, wide, x, wide); });
  const Tensor head = tensor(1, 128), heads = tensor(kTokens, 24, DType::fp32);
  const RotaryTensors rotary{{2, kTokens / 2, 16, 128, 8}, x, head, head, heads, head, head};
  expect("rotate", StepPart::norm, 2 * one,
         [&](auto& on, auto& stream) { on.rotate(stream, rotary, y); });
  expect("rotate backward", StepPart::norm, 3 * one,
         [&](auto& on, auto& stream) { on.rotate_backward(stream, rotary, y, y, Accumulate::no); });
  const Tensor one_element = tensor(1, 1, DType::fp32);
  const auto eight = [&](std::int64_t rows, std::int64_t columns) {
    return tensor(rows, columns, DType::fp8_e4m3);
  };
  const Quantised both{eight(kTokens, 4096), eight(4096, kTokens), one_element},
      turned{{}, both.transposed, one_element};
  expect("magnitude", StepPart::elementwise, 2 * one,
         [&](auto& on, auto& stream) { on.magnitude(stream, wide, one_element); });
  expect("quantise", StepPart::elementwise, 2 * one,
         [&](auto& on, auto& stream) { on.quantise(stream, x, one_element, both); });
  expect("quantise for the backward pass", StepPart::elementwise, 1.5 * one,
         [&](auto& on, auto& stream) { on.quantise(stream, x, one_element, turned); });
  const Tensor targets = tensor(1, kTokens, DType::int32);
  expect("cross entropy", StepPart::loss, 4 * one, [&](auto& on, auto& stream) {
    on.cross_entropy_piece(stream, wide, 8192, targets, 2 * kTokens, inverse);
    on.mean(stream, inverse, tensor(1, 1, DType::fp32));
  });
}

}  // namespace
}  // namespace duet
