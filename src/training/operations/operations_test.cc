// What operations cost on a simulated device, and the part of a step that their time goes to.
#include "training/operations/operations.h"

#include <gtest/gtest.h>

#include <vector>

#include "device/machine.h"
#include "team/team.h"

namespace duet {
namespace {

// On a simulated GPU, whose memory moves 4.8 TB/s, of which 0.88 arrive.
class SimulatedOperations : public ::testing::Test {
 protected:
  Tensor tensor(std::int64_t rows, std::int64_t columns, DType dtype = DType::bf16) {
    Tensor made{{}, rows, columns, dtype};
    buffers_.push_back(device_.allocate(made.bytes()));
    made.span = buffers_.back().span();
    return made;
  }

  // Expects the operations to move so many bytes, and their time in one part of the step.
  void expect(const char* what, StepPart part, double bytes,
              const std::vector<AnyOperation>& enqueued) {
    team_.each([&](Rank& rank) {
      const auto operations = make_operations(rank.device);
      const auto stream = rank.device.make_stream();
      const auto seconds = operations->time(*stream, [&] {
        for (const AnyOperation& each : enqueued) operations->run(*stream, each);
      });
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
  const NormTensors norm{x, weight, {}, {}, inverse, weight, {}};
  expect("rms norm", StepPart::norm, 2 * one, {Norm{norm, y}});
  expect("rms norm backward", StepPart::norm, 4 * one,
         {NormBackward{norm, x, y, Accumulate::yes, Accumulate::no}});
  expect("swiglu", StepPart::elementwise, 3 * one, {SwiGlu{wide, y}});
  expect("swiglu backward", StepPart::elementwise, 5 * one, {SwiGluBackward{wide, x, wide}});
  const Tensor head = tensor(1, 128), heads = tensor(kTokens, 24, DType::fp32);
  const RotaryTensors rotary{{2, kTokens / 2, 16, 128, 8}, x, head, head, heads, head, head};
  expect("rotate", StepPart::norm, 2 * one, {Rotate{rotary, y}});
  expect("rotate backward", StepPart::norm, 3 * one,
         {RotateBackward{rotary, y, y, Accumulate::no}});
  const Tensor one_element = tensor(1, 1, DType::fp32);
  const auto eight = [&](std::int64_t rows, std::int64_t columns) {
    return tensor(rows, columns, DType::fp8_e4m3);
  };
  const Quantised both{eight(kTokens, 4096), eight(4096, kTokens), one_element},
      turned{{}, both.transposed, one_element};
  expect("swiglu in fp8", StepPart::elementwise, 2.5 * one, {SwiGlu{wide, eight(kTokens, 4096)}});
  expect("magnitude", StepPart::elementwise, 2 * one, {Magnitude{wide, one_element}});
  expect("quantise", StepPart::elementwise, 2 * one, {Quantise{x, one_element, both}});
  expect("quantise for the backward pass", StepPart::elementwise, 1.5 * one,
         {Quantise{x, one_element, turned}});
  const Tensor targets = tensor(1, kTokens, DType::int32);
  expect("cross entropy", StepPart::loss, 4 * one,
         {CrossEntropyPiece{wide, 8192, targets, 2 * kTokens, inverse},
          Mean{inverse, tensor(1, 1, DType::fp32)}});
}

}  // namespace
}  // namespace duet
