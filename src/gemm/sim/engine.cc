// A GEMM on a simulated device takes virtual time by the platform's demand. Small products are
// computed, so that they can be verified; large ones are not.
#include "gemm/sim/engine.h"

#include <fmt/format.h>

#include "device/sim/sim.h"
#include "gemm/sim/product.h"

namespace duet {
namespace {

sim::GemmSize size_of_product(const GemmProblem& problem) {
  sim::GemmSize size;
  size.m = static_cast<double>(problem.m);
  size.n = static_cast<double>(problem.n);
  size.k = static_cast<double>(problem.k);
  size.dtype = problem.dtype;
  size.memory_bytes = bytes(problem);
  return size;
}

class ModelPlan : public GemmPlan {
 public:
  ModelPlan(Device& device, const GemmProblem& problem, const Tuning& tuning)
      : problem_(problem), computes_(tuning.simulated_products), product_(device, problem) {
    sim::GemmSize size = size_of_product(problem);
    size.traffic = tuning.simulated_traffic;
    demand_ = sim::gemm_demand(*sim::model_of(device), size);
  }

  void enqueue(Stream& stream, const GemmBuffers& buffers) override {
    Task task{"gemm " + name(problem_), demand_, {}};
    if (!unverifiable(buffers)) {
      task.body = [this, buffers] { product_.write(buffers); };
    }
    stream.run(task);
  }

  std::string algorithm() const override {
    return fmt::format("model: {:.0f} workgroups", demand_.workgroups);
  }

  std::optional<Skipped> unverifiable(const GemmBuffers& buffers) const override {
    if (!computes_) return simulated_product_too_large();
    return product_.unverifiable(buffers);
  }

 private:
  GemmProblem problem_;
  const bool computes_;
  SimulatedProduct product_;
  Demand demand_;
};

// All groups by one kernel, whose workgroups are the tiles of all products.
class GroupedModelPlan : public GroupedGemmPlan {
 public:
  GroupedModelPlan(Device& device, const GroupedGemmProblem& problem, const GemmBuffers& buffers)
      : name_("grouped gemm " + duet::name(problem)) {
    std::vector<sim::GemmSize> sizes;
    for (const std::size_t group : filled_groups(problem)) {
      const GemmProblem product = product_of(problem, group);
      sizes.push_back(size_of_product(product));
      groups_.push_back({{device, product}, part_of(problem, buffers, group)});
    }
    if (!sizes.empty()) demand_ = sim::grouped_gemm_demand(*sim::model_of(device), sizes);
  }

  void enqueue(Stream& stream) override {
    if (groups_.empty()) return;
    Task task{name_, demand_, {}};
    if (!unverifiable()) {
      task.body = [this] {
        for (Group& group : groups_) group.product.write(group.buffers);
      };
    }
    stream.run(task);
  }

  std::size_t operations() const override { return groups_.empty() ? 0 : 1; }

  std::string algorithm() const override {
    return fmt::format("model: {:.0f} workgroups", demand_.workgroups);
  }

  std::optional<Skipped> unverifiable() const override {
    for (const Group& group : groups_) {
      if (auto skipped = group.product.unverifiable(group.buffers)) return skipped;
    }
    return std::nullopt;
  }

 private:
  struct Group {
    SimulatedProduct product;
    GemmBuffers buffers;
  };

  std::string name_;
  std::vector<Group> groups_;  // that have rows
  Demand demand_;
};

std::optional<Skipped> no_model(Device& device, DType dtype) {
  const sim::DeviceModel* model = sim::model_of(device);
  if (model == nullptr) return Skipped{"not a simulated device"};
  if (model->peak.count(dtype) != 0) return std::nullopt;
  return Skipped{fmt::format("{} has no rate for {}", model->model, duet::name(dtype))};
}

class ModelEngine : public GemmEngine {
 public:
  std::string name() const override { return "model"; }
  std::string device_kind() const override { return "sim"; }

  std::optional<Skipped> unsupported(Device& device, const GemmProblem& problem) const override {
    if (problem.accumulate && problem.output == DType::int32) {
      return Skipped{"simulated: int32 is not accumulated"};
    }
    return no_model(device, problem.dtype);
  }

  std::unique_ptr<GemmPlan> plan(Device& device, const GemmProblem& problem, const GemmBuffers&,
                                 const Tuning& tuning) override {
    return std::make_unique<ModelPlan>(device, problem, tuning);
  }
};

class GroupedModelEngine : public GroupedGemmEngine {
 public:
  std::string name() const override { return "model-grouped"; }
  std::string device_kind() const override { return "sim"; }

  std::optional<Skipped> unsupported(Device& device,
                                     const GroupedGemmProblem& problem) const override {
    return no_model(device, problem.dtype);
  }

  std::unique_ptr<GroupedGemmPlan> plan(Device& device, const GroupedGemmProblem& problem,
                                        const GemmBuffers& buffers, const Tuning&) override {
    check(problem, buffers);
    return std::make_unique<GroupedModelPlan>(device, problem, buffers);
  }
};

}  // namespace

std::unique_ptr<GemmEngine> make_model_engine() { return std::make_unique<ModelEngine>(); }

std::unique_ptr<GroupedGemmEngine> make_grouped_model_engine() {
  return std::make_unique<GroupedModelEngine>();
}

}  // namespace duet
