#include "gemm/grouped_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/units.h"

namespace duet {
namespace {

constexpr std::uint64_t kSharedWorkspace = 32ull << 20;  // what GPU libraries usually ask for
constexpr std::size_t kStreams = 4;
constexpr std::size_t kKernelsOfProduct = 2;  // of a K that is split, the second one adds
constexpr const char* kLoop = "loop-";
constexpr const char* kOnStreams = "streams-";

// One stream's part of a loop. Its plans run one after the other and share a workspace.
class LoopLane {
 public:
  LoopLane(GemmEngine& engine, Device& device, const Tuning& tuning)
      : engine_(engine), device_(device), tuning_(tuning) {
    if (!device.info().is_gpu()) return;
    workspace_ = device.allocate(kSharedWorkspace);
    tuning_.workspace = workspace_.span();
  }

  void add(const GemmProblem& product, const GemmBuffers& buffers) {
    std::unique_ptr<GemmPlan>& plan = plans_[product.m];
    if (plan == nullptr) plan = engine_.plan(device_, product, buffers, tuning_);
    products_.push_back({plan.get(), buffers});
  }

  void enqueue(std::size_t index, Stream& stream) const {
    products_[index].plan->enqueue(stream, products_[index].buffers);
  }

  std::size_t size() const { return products_.size(); }

  std::uint64_t workspace_bytes() const {
    std::uint64_t sum = workspace_.bytes();
    for (const auto& [rows, plan] : plans_) sum += plan->workspace_bytes();
    return sum;
  }

  // That of the group with the most rows.
  std::string algorithm() const {
    if (plans_.empty()) return "no rows";
    return fmt::format("of {} rows: {}", plans_.rbegin()->first,
                       plans_.rbegin()->second->algorithm());
  }

  std::optional<Skipped> unverifiable() const {
    for (const Product& product : products_) {
      if (auto skipped = product.plan->unverifiable(product.buffers)) return skipped;
    }
    return std::nullopt;
  }

 private:
  struct Product {
    GemmPlan* plan;
    GemmBuffers buffers;
  };

  GemmEngine& engine_;
  Device& device_;
  Tuning tuning_;
  Buffer workspace_;                                         // freed after the plans
  std::map<std::int64_t, std::unique_ptr<GemmPlan>> plans_;  // by rows
  std::vector<Product> products_;
};

class LoopPlan : public GroupedGemmPlan {
 public:
  LoopPlan(GemmEngine& engine, Device& device, const GroupedGemmProblem& problem,
           const GemmBuffers& buffers, const Tuning& tuning, std::size_t streams) {
    const std::vector<std::size_t> groups = filled_groups(problem);
    streams = std::max<std::size_t>(1, std::min(streams, groups.size()));
    for (std::size_t i = 0; i < streams; ++i) lanes_.emplace_back(engine, device, tuning);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      lanes_[i % streams].add(product_of(problem, groups[i]), part_of(problem, buffers, groups[i]));
    }
    if (streams > 1) begin_ = device.make_event(EventUse::order);
    for (std::size_t i = 1; i < streams; ++i) {
      sides_.push_back({device.make_stream({0, tuning.units}), device.make_event(EventUse::order)});
    }
  }

  //     caller's stream:  begin ----> groups 0, 4, ... ----------> wait for all ends
  //     side stream i:    wait for begin --> groups i, i + 4, ... --> end
  void enqueue(Stream& stream) override {
    if (begin_ != nullptr) stream.record(*begin_);
    for (const Side& side : sides_) side.stream->wait(*begin_);
    for (std::size_t index = 0; index < lanes_.front().size(); ++index) {
      for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        if (index >= lanes_[lane].size()) break;  // the lanes behind it have no more either
        lanes_[lane].enqueue(index, lane == 0 ? stream : *sides_[lane - 1].stream);
      }
    }
    for (const Side& side : sides_) {
      side.stream->record(*side.end);
      stream.wait(*side.end);
    }
  }

  std::size_t operations() const override {
    std::size_t sum = 3 * sides_.size() + (begin_ != nullptr ? 1 : 0);
    for (const LoopLane& lane : lanes_) sum += kKernelsOfProduct * lane.size();
    return sum;
  }

  std::uint64_t workspace_bytes() const override {
    std::uint64_t sum = 0;
    for (const LoopLane& lane : lanes_) sum += lane.workspace_bytes();
    return sum;
  }

  std::string algorithm() const override {
    const std::string first = lanes_.front().algorithm();
    return sides_.empty() ? first : fmt::format("{} streams; {}", lanes_.size(), first);
  }

  std::optional<Skipped> unverifiable() const override {
    for (const LoopLane& lane : lanes_) {
      if (auto skipped = lane.unverifiable()) return skipped;
    }
    return std::nullopt;
  }

 private:
  struct Side {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> end;
  };

  std::vector<LoopLane> lanes_;  // the first one's stream is the caller's
  std::vector<Side> sides_;      // of the other lanes
  std::unique_ptr<Event> begin_;
};

class LoopEngine : public GroupedGemmEngine {
 public:
  LoopEngine(GemmEngine& products, bool on_several_streams)
      : products_(products), on_several_streams_(on_several_streams) {}

  std::string name() const override {
    return (on_several_streams_ ? kOnStreams : kLoop) + products_.name();
  }
  std::string device_kind() const override { return products_.device_kind(); }

  std::optional<Skipped> unsupported(Device& device,
                                     const GroupedGemmProblem& problem) const override {
    // The largest group stands for all: what a library has seldom depends on the rows, and plan()
    // throws Unavailable where another group cannot be multiplied.
    if (problem.rows_of_largest() == 0) return std::nullopt;
    const auto largest = std::max_element(problem.rows.begin(), problem.rows.end());
    const auto group = static_cast<std::size_t>(largest - problem.rows.begin());
    return products_.unsupported(device, product_of(problem, group));
  }

  std::unique_ptr<GroupedGemmPlan> plan(Device& device, const GroupedGemmProblem& problem,
                                        const GemmBuffers& buffers, const Tuning& tuning) override {
    check(problem, buffers);
    return std::make_unique<LoopPlan>(products_, device, problem, buffers,
                                      tuning_of_each(tuning, problem.rows),
                                      on_several_streams_ ? kStreams : 1);
  }

 private:
  GemmEngine& products_;
  bool on_several_streams_;
};

}  // namespace

std::unique_ptr<GroupedGemmEngine> make_grouped_loop(GemmEngine& products,
                                                     bool on_several_streams) {
  return std::make_unique<LoopEngine>(products, on_several_streams);
}

bool is_loop(const std::string& engine) { return engine_of_products(engine) != engine; }

bool has_several_streams(const std::string& engine) { return engine.rfind(kOnStreams, 0) == 0; }

std::string engine_of_products(const std::string& engine) {
  for (const std::string_view prefix : {kLoop, kOnStreams}) {
    if (engine.compare(0, prefix.size(), prefix) == 0) return engine.substr(prefix.size());
  }
  return engine;
}

bool tunes(const std::string& engine) {
  return ends_with(engine, "-tuned") || ends_with(engine, "-autotune");
}

}  // namespace duet
