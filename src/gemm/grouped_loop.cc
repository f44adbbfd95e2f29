#include "gemm/grouped_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/units.h"

namespace duet {
namespace {

constexpr std::uint64_t kSharedWorkspace = 32ull << 20;  // what GPU libraries usually ask for

class LoopPlan : public GroupedGemmPlan {
 public:
  LoopPlan(GemmEngine& engine, Device& device, const GroupedGemmProblem& problem,
           const GemmBuffers& buffers, Tuning tuning) {
    if (device.info().is_gpu()) {
      workspace_ = device.allocate(kSharedWorkspace);
      tuning.workspace = workspace_.span();
    }
    const std::set<std::int64_t> sizes(problem.rows.begin(), problem.rows.end());
    tuning.seconds /= static_cast<double>(std::max<std::size_t>(1, sizes.size()));
    for (const std::size_t group : filled_groups(problem)) {
      const GemmProblem product = product_of(problem, group);
      const GemmBuffers part = part_of(problem, buffers, group);
      std::unique_ptr<GemmPlan>& plan = plans_[product.m];
      if (plan == nullptr) plan = engine.plan(device, product, part, tuning);
      products_.push_back({plan.get(), part});
    }
  }

  void enqueue(Stream& stream) override {
    for (const Product& product : products_) product.plan->enqueue(stream, product.buffers);
  }

  std::size_t operations() const override { return products_.size(); }

  std::uint64_t workspace_bytes() const override {
    std::uint64_t sum = workspace_.bytes();
    for (const auto& [rows, plan] : plans_) sum += plan->workspace_bytes();
    return sum;
  }

  // That of the group with the most rows stands for all.
  std::string algorithm() const override {
    if (plans_.empty()) return "no rows";
    return fmt::format("{} products; of {} rows: {}", products_.size(), plans_.rbegin()->first,
                       plans_.rbegin()->second->algorithm());
  }

  std::optional<Skipped> unverifiable() const override {
    for (const Product& product : products_) {
      if (const auto skipped = product.plan->unverifiable(product.buffers)) return skipped;
    }
    return std::nullopt;
  }

 private:
  struct Product {
    GemmPlan* plan;
    GemmBuffers buffers;
  };

  Buffer workspace_;  // of all plans, which run one after the other; freed after them
  std::map<std::int64_t, std::unique_ptr<GemmPlan>> plans_;  // by rows
  std::vector<Product> products_;                            // of the groups that have rows
};

class LoopEngine : public GroupedGemmEngine {
 public:
  explicit LoopEngine(GemmEngine& products) : products_(products) {}

  std::string name() const override { return kLoopPrefix + products_.name(); }
  std::string device_kind() const override { return products_.device_kind(); }

  std::optional<Skipped> unsupported(Device& device,
                                     const GroupedGemmProblem& problem) const override {
    std::set<std::int64_t> seen;
    for (const std::size_t group : filled_groups(problem)) {
      if (!seen.insert(problem.rows[group]).second) continue;
      if (auto skipped = products_.unsupported(device, product_of(problem, group))) return skipped;
    }
    return std::nullopt;
  }

  std::unique_ptr<GroupedGemmPlan> plan(Device& device, const GroupedGemmProblem& problem,
                                        const GemmBuffers& buffers, const Tuning& tuning) override {
    check(problem, buffers);
    return std::make_unique<LoopPlan>(products_, device, problem, buffers, tuning);
  }

 private:
  GemmEngine& products_;
};

}  // namespace

std::unique_ptr<GroupedGemmEngine> make_grouped_loop(GemmEngine& products) {
  return std::make_unique<LoopEngine>(products);
}

bool is_loop(const GroupedGemmEngine& engine) { return engine.name().rfind(kLoopPrefix, 0) == 0; }

bool tunes(const GroupedGemmEngine& engine) {
  const std::string name = engine.name();
  return ends_with(name, "-tuned") || ends_with(name, "-autotune");
}

}  // namespace duet
