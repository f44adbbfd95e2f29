// A GEMM on a simulated device takes virtual time by the platform's demand. Small products are
// computed, so that they can be verified; large ones are not.
#include "gemm/sim/engine.h"

#include <fmt/format.h>

#include "device/sim/sim.h"
#include "gemm/reference.h"

namespace duet {
namespace {

constexpr double kLargestComputed = 2e9;  // FLOP of the reference: about a second on two cores

class ModelPlan : public GemmPlan {
 public:
  ModelPlan(Device& device, const GemmProblem& problem, double traffic)
      : device_(device), problem_(problem) {
    sim::GemmSize size;
    size.m = static_cast<double>(problem.m);
    size.n = static_cast<double>(problem.n);
    size.k = static_cast<double>(problem.k);
    size.dtype = problem.dtype;
    size.memory_bytes = bytes(problem);
    size.traffic = traffic;
    demand_ = sim::gemm_demand(*sim::model_of(device), size);
  }

  void enqueue(Stream& stream, const GemmBuffers& buffers) override {
    Task task{"gemm " + name(problem_), demand_, {}};
    if (!unverifiable(buffers)) {
      task.body = [this, buffers] {
        multiply(buffers);
        if (problem_.epilogue == Epilogue::none) {
          write(buffers.c);
        } else {
          write_with_epilogue(buffers.c, *buffers.aux);
        }
      };
    }
    stream.run(task);
  }

  std::string algorithm() const override {
    return fmt::format("model: {:.0f} workgroups", demand_.workgroups);
  }

  std::optional<Skipped> unverifiable(const GemmBuffers& buffers) const override {
    for (const Span& span : {buffers.a, buffers.b, buffers.c, buffers.aux.value_or(buffers.c)}) {
      if (!device_.has_contents(span)) return Skipped{"simulated memory holds no contents"};
    }
    if (problem_.scaled) return Skipped{"simulated: scaled products are not computed"};
    if (flop(problem_) > kLargestComputed)
      return Skipped{"simulated: products this large are not computed"};
    return std::nullopt;
  }

 private:
  void write(const Span& c) {
    if (!problem_.accumulate) return device_.write(c, product_.data());
    std::vector<std::byte> sum(c.bytes);
    device_.read(c, sum.data());
    const std::size_t size = size_of(problem_.output);
    for (std::size_t at = 0; at < sum.size(); at += size) {
      store(problem_.output, sum.data() + at,
            load(problem_.output, sum.data() + at) + load(problem_.output, product_.data() + at));
    }
    device_.write(c, sum.data());
  }

  void write_with_epilogue(const Span& c, const Span& aux) {
    if (problem_.epilogue == Epilogue::gelu) device_.write(aux, product_.data());
    std::vector<std::byte> auxiliary(aux.bytes), result(c.bytes);
    device_.read(aux, auxiliary.data());
    const std::size_t size = size_of(problem_.output);
    for (std::size_t at = 0; at < result.size(); at += size) {
      const double product = load(problem_.output, product_.data() + at);
      const double beside = load(problem_.output, auxiliary.data() + at);
      store(problem_.output, result.data() + at,
            static_cast<float>(after_epilogue(problem_.epilogue, product, beside)));
    }
    device_.write(c, result.data());
  }

  // Computes the product only if the input has changed since the last call, which is rare.
  void multiply(const GemmBuffers& buffers) {
    std::vector<std::byte> input(buffers.a.bytes + buffers.b.bytes);
    device_.read(buffers.a, input.data());
    device_.read(buffers.b, input.data() + buffers.a.bytes);
    if (input == input_) return;
    input_ = std::move(input);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(problem_.m));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
    GemmProblem plain = problem_;
    plain.epilogue = Epilogue::none;
    const std::vector<double> c = reference_by_cpu(device_, plain, buffers, rows);
    const std::size_t size = size_of(problem_.output);
    product_.resize(c.size() * size);
    for (std::size_t i = 0; i < c.size(); ++i) {
      store(problem_.output, product_.data() + i * size, static_cast<float>(c[i]));
    }
  }

  Device& device_;
  GemmProblem problem_;
  Demand demand_;
  std::vector<std::byte> input_, product_;  // A and B of the last call, and their product
};

class ModelEngine : public GemmEngine {
 public:
  std::string name() const override { return "model"; }
  std::string device_kind() const override { return "sim"; }

  std::optional<Skipped> unsupported(Device& device, const GemmProblem& problem) const override {
    const sim::DeviceModel* model = sim::model_of(device);
    if (model == nullptr) return Skipped{"not a simulated device"};
    if (problem.accumulate && problem.output == DType::int32) {
      return Skipped{"simulated: int32 is not accumulated"};
    }
    if (model->peak.count(problem.dtype) != 0) return std::nullopt;
    return Skipped{fmt::format("{} has no rate for {}", model->model, duet::name(problem.dtype))};
  }

  std::unique_ptr<GemmPlan> plan(Device& device, const GemmProblem& problem, const GemmBuffers&,
                                 const Tuning& tuning) override {
    return std::make_unique<ModelPlan>(device, problem, tuning.simulated_traffic);
  }
};

}  // namespace

std::unique_ptr<GemmEngine> make_model_engine() { return std::make_unique<ModelEngine>(); }

}  // namespace duet
