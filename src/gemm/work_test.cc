// GemmWork detects engines that compute nothing or something wrong.
#include <gtest/gtest.h>

#include <cmath>

#include "core/message_fixture.h"
#include "device/machine.h"
#include "gemm/gemm_work.h"
#include "gemm/reference.h"
#include "timing/sampler.h"

namespace duet {
namespace {

enum class Fault {
  none,
  writes_nothing,
  leaves_a_row,
  one_element_off,
  not_a_number,
  accumulates,
  no_epilogue,
  no_aux
};

// An engine that computes by the reference, with a fault.
class FaultyEngine : public GemmEngine {
 public:
  explicit FaultyEngine(Fault fault) : fault_(fault) {}
  std::string name() const override { return "faulty"; }
  std::string device_kind() const override { return "host"; }
  std::optional<Skipped> unsupported(Device&, const GemmProblem&) const override {
    return std::nullopt;
  }
  std::unique_ptr<GemmPlan> plan(Device&, const GemmProblem& problem, const GemmBuffers&,
                                 const Tuning&) override {
    struct Plan : GemmPlan {
      void enqueue(Stream& stream, const GemmBuffers& buffers) override {
        stream.run({"faulty", {}, [this, buffers] { multiply(buffers); }});
      }
      void multiply(const GemmBuffers& b) const {
        if (fault == Fault::writes_nothing) return;
        const std::vector<double> c = reference_rows(p, b.a.data, b.b.data, p.m);
        const std::size_t size = size_of(p.output);
        for (std::size_t i = 0; i < c.size(); ++i) {
          const bool last_row = i >= c.size() - static_cast<std::size_t>(p.n);
          const bool last = i + 1 == c.size();
          double value = c[i];
          if (p.epilogue == Epilogue::gelu && fault != Fault::no_aux) {
            store(p.output, b.aux->data + i * size, static_cast<float>(value));
          }
          if (p.epilogue != Epilogue::none && fault != Fault::no_epilogue) {
            const float aux = load(p.output, b.aux->data + i * size);
            value = after_epilogue(p.epilogue, value, static_cast<double>(aux));
          }
          if (fault == Fault::leaves_a_row && last_row) continue;
          if (fault == Fault::one_element_off && last) value += 1;
          if (fault == Fault::not_a_number && last) value = NAN;
          if (fault == Fault::accumulates) {
            value += static_cast<double>(load(p.output, b.c.data + i * size));
          }
          store(p.output, b.c.data + i * size, static_cast<float>(value));
        }
      }
      Fault fault{};
      GemmProblem p;
    };
    auto plan = std::make_unique<Plan>();
    plan->fault = fault_;
    plan->p = problem;
    return plan;
  }

 private:
  Fault fault_;
};

Sampling measure(GemmEngine& engine, const GemmProblem& problem,
                 const std::string& device = "host") {
  const auto machine = open_machine(device);
  Team team(*machine, {0});
  GemmWork work(engine, problem);
  Mode mode;
  mode.min_iterations = 2;
  mode.max_iterations = 2;
  mode.warm_up_seconds = 0;
  return Sampler(team).measure(work, mode);
}

class Faults : public testing::TestWithParam<DType> {
 protected:
  GemmProblem problem() const {
    return {33, 17, 21, GetParam(), default_output(GetParam()), Layout::nt};
  }
};

TEST_P(Faults, ARightResultPasses) {
  FaultyEngine engine(Fault::none);
  EXPECT_TRUE(measure(engine, problem()).verified);
}

TEST_P(Faults, AWrongOneDoesNot) {
  for (Fault fault :
       {Fault::writes_nothing, Fault::leaves_a_row, Fault::one_element_off, Fault::accumulates}) {
    FaultyEngine engine(fault);
    EXPECT_THROW(measure(engine, problem()), Mismatch) << static_cast<int>(fault);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Faults, testing::Values(DType::fp32, DType::fp16, DType::int8),
                         [](const auto& type) { return std::string(name(type.param)); });

TEST_P(Faults, AccumulationIsChecked) {
  GemmProblem sum = problem();
  sum.accumulate = true;
  FaultyEngine adds(Fault::accumulates), overwrites(Fault::none), idle(Fault::writes_nothing);
  if (GetParam() != DType::int8) {  // load() of int32 is no value of C
    EXPECT_TRUE(measure(adds, sum).verified);
  }
  EXPECT_THROW(measure(overwrites, sum), Mismatch);
  EXPECT_THROW(measure(idle, sum), Mismatch);
}

TEST(GemmWork, EpiloguesAreChecked) {
  GemmProblem problem{33, 17, 21, DType::bf16, DType::bf16, Layout::nt};
  for (const Epilogue epilogue : {Epilogue::gelu, Epilogue::gelu_backward}) {
    problem.epilogue = epilogue;
    FaultyEngine right(Fault::none), plain(Fault::no_epilogue), idle(Fault::writes_nothing);
    EXPECT_TRUE(measure(right, problem).verified);
    EXPECT_THROW(measure(plain, problem), Mismatch);
    EXPECT_THROW(measure(idle, problem), Mismatch);
  }
  problem.epilogue = Epilogue::gelu;
  FaultyEngine without(Fault::no_aux);
  EXPECT_THROW(measure(without, problem), Mismatch);
}

TEST(GemmWork, NotANumberIsWrong) {
  FaultyEngine engine(Fault::not_a_number);
  EXPECT_THROW(measure(engine, {9, 9, 9, DType::fp32, DType::fp32, Layout::nn}), Mismatch);
}

TEST(GemmWork, TheMessageNamesTheEngineTheProblemAndThePlace) {
  FaultyEngine engine(Fault::one_element_off);
  const std::string message = message_of<Mismatch>([&] {
    measure(engine, {4, 6, 8, DType::fp32, DType::fp32, Layout::nn});
  });
  for (const char* part : {"faulty", "host:0", "4x6x8", "C(3, 5)"}) {
    EXPECT_TRUE(contains(message, part));
  }
}

TEST(GemmWork, CostsFlopAndBytes) {
  FaultyEngine engine(Fault::none);
  const GemmProblem p{10, 20, 30, DType::bf16, DType::bf16, Layout::nn};
  EXPECT_DOUBLE_EQ(GemmWork(engine, p).cost().flop, flop(p));
  EXPECT_DOUBLE_EQ(GemmWork(engine, p, {}, 4).cost().memory_bytes, 4 * bytes(p));
}

}  // namespace
}  // namespace duet
