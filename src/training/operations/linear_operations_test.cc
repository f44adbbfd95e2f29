// The choice between a GEMM with an epilogue and a GEMM with a kernel after it.
#include "training/operations/linear_operations.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "gemm/reference.h"
#include "gemm/tuning.h"
#include "training/operations/on_host_fixture.h"

namespace duet {
namespace {

// Multiplies with epilogues only, and only while a test wants it.
class EpilogueEngine : public GemmEngine {
 public:
  std::string name() const override { return "epilogues"; }
  std::string device_kind() const override { return "host"; }
  std::optional<Skipped> unsupported(Device&, const GemmProblem& problem) const override {
    if (wanted && problem.epilogue != Epilogue::none) return std::nullopt;
    return Skipped{"not wanted"};
  }
  std::unique_ptr<GemmPlan> plan(Device&, const GemmProblem& problem, const GemmBuffers&,
                                 const Tuning&) override {
    struct Plan : GemmPlan {
      explicit Plan(const GemmProblem& problem) : p(problem) {}
      void enqueue(Stream& stream, const GemmBuffers& buffers) override {
        stream.run({"gemm with an epilogue", {}, [this, buffers] { multiply(buffers); }});
      }
      void multiply(const GemmBuffers& b) const {
        ++calls;
        std::this_thread::sleep_for(std::chrono::microseconds(sleeps));
        const std::vector<double> product = reference_rows(p, b.a.data, b.b.data, p.m);
        auto* const aux = reinterpret_cast<float*>(b.aux->data);
        for (std::size_t i = 0; i < product.size(); ++i) {
          if (p.epilogue == Epilogue::gelu) aux[i] = static_cast<float>(product[i]);
          reinterpret_cast<float*>(b.c.data)[i] = static_cast<float>(
              after_epilogue(p.epilogue, product[i], static_cast<double>(aux[i])));
        }
      }
      GemmProblem p;
    };
    return std::make_unique<Plan>(problem);
  }

  static inline std::atomic<bool> wanted{false};
  static inline std::atomic<int> calls{0}, sleeps{0};
};

class FusedGelu : public OnHost {
 protected:
  FusedGelu() {
    static const bool registered = [] {
      register_gemm_engine(std::make_unique<EpilogueEngine>());
      return true;
    }();
    EpilogueEngine::wanted = registered;
    EpilogueEngine::calls = EpilogueEngine::sleeps = 0;
    set_tuning_cache("");
  }
  ~FusedGelu() override {
    EpilogueEngine::wanted = false;
    set_tuning_cache("");
  }

  // hidden, activated and dhidden.
  std::vector<float> run(Operations& operations) {
    operations.run(*stream_, forward_);
    operations.run(*stream_, backward_);
    synchronize();
    std::vector<float> all;
    for (const Tensor* each : {&hidden_, &activated_, &dhidden_}) {
      all.insert(all.end(), data(*each), data(*each) + each->count());
    }
    return all;
  }

  static void choose(const char* choice) {
    for (const auto& [layout, epilogue] :
         {std::pair{Layout::nt, Epilogue::gelu}, {Layout::nn, Epilogue::gelu_backward}}) {
      GemmProblem problem{9, 11, 7, DType::fp32, DType::fp32, layout};
      problem.epilogue = epilogue;
      const auto machine = open_machine("host");
      tuning_cache().store(tuning_key({machine->device(0).info().model, "duet", "fused"}, problem),
                           {{}, 0, choice});
    }
  }

  Tensor x_ = normal(9, 7, 1), w_ = normal(11, 7, 2), hidden_ = normal(9, 11, 3),
         activated_ = normal(9, 11, 4), dy_ = normal(9, 7, 5), back_ = normal(7, 11, 6),
         dhidden_ = normal(9, 11, 7);
  const LinearGelu forward_{x_, w_, hidden_, activated_};
  const LinearBackwardGelu backward_{dy_, back_, hidden_, dhidden_};
};

TEST_F(FusedGelu, GivesWhatSeparateKernelsGive) {
  choose("separate");
  const auto separate = make_operations(device_);
  const std::vector<float> expected = run(*separate);
  EXPECT_EQ(EpilogueEngine::calls, 0);
  EXPECT_FALSE(separate->fuses(forward_));
  choose("fused");
  const auto fused = make_operations(device_);
  const std::vector<float> found = run(*fused);
  EXPECT_EQ(EpilogueEngine::calls, 2);
  EXPECT_TRUE(fused->fuses(forward_));
  EXPECT_TRUE(fused->fuses(backward_));
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5);
}

TEST_F(FusedGelu, IsLeftWhereItIsSlower) {
  EpilogueEngine::sleeps = 2000;
  const auto operations = make_operations(device_);
  run(*operations);
  EXPECT_FALSE(operations->fuses(forward_));
  EXPECT_NE(tuning_cache().text().find("separate"), std::string::npos);
  const int raced = EpilogueEngine::calls;
  EXPECT_GT(raced, 0);
  run(*operations);
  run(*make_operations(device_));
  EXPECT_EQ(EpilogueEngine::calls, raced);
}

}  // namespace
}  // namespace duet
