#include "training/parallel/sharded_step.h"

#include <algorithm>

#include "core/error.h"
#include "training/operations/operation.h"

namespace duet {
namespace {

Collective collective_of(CollectiveKind kind, const Tensor& share) {
  Collective collective;
  collective.kind = kind;
  collective.dtype = share.dtype;
  collective.op = Reduction::sum;
  collective.count = static_cast<std::uint64_t>(share.count());
  return collective;
}

// What sends the gradients of a unit to the ranks whose shares they are.
std::unique_ptr<CollectivePlan> plan_of_gradients(Rank& rank, CollectiveSession& session,
                                                  const Parameters::Unit& unit) {
  const bool parts = unit.gradient_parts.count() > 0;
  const auto kind = parts ? CollectiveKind::all_to_all : CollectiveKind::reduce_scatter;
  const Tensor& received = parts ? unit.gradient_parts : unit.own.gradients;
  return session.plan(rank, collective_of(kind, unit.own.gradients),
                      {unit.full_gradients.span, received.span});
}

// Adds all ranks' gradients of each unit, in the order of ranks.
LocalKernel sum_of_parts(const std::vector<Parameters::Unit>& units, int ranks) {
  LocalKernel kernel;
  kernel.dtype = units.front().own.gradients.dtype;
  for (const Parameters::Unit& unit : units) {
    LocalKernelItem item;
    const std::uint64_t bytes = unit.own.gradients.bytes();
    for (int rank = 0; rank < ranks; ++rank) {
      item.sources.push_back(
          unit.gradient_parts.span.slice(static_cast<std::uint64_t>(rank) * bytes, bytes));
    }
    item.destinations = {unit.own.gradients.span};
    kernel.items.push_back(std::move(item));
  }
  return kernel;
}

}  // namespace

ShardedStep::ShardedStep(Rank& rank, CollectiveSession& session, Model& model,
                         const StreamOptions& options)
    : model_(model),
      communication_(rank.device, options),
      buffers_(model.parameters().block_buffers()) {
  const SharedStaging sharing(session, rank);  // no two calls run at a time
  for (const Unit& each : units()) {
    const auto gathered = collective_of(CollectiveKind::all_gather, each.own.parameters);
    plans_.push_back({session.plan(rank, gathered, {each.own.parameters.span, each.full.span}),
                      plan_of_gradients(rank, session, each)});
  }
  if (units().front().gradient_parts.count() > 0) {
    constexpr int kBlocksOfUnit = 4;  // two run at a time
    LocalKernel kernel = sum_of_parts(units(), rank.size);
    kernel.blocks = kBlocksOfUnit * rank.device.info().compute_units;
    sum_parts_ = rank.device.prepare(kernel);
  }
  const Span& squares = model.squares().span;
  sum_squares_ = session.plan(rank, collective_of(CollectiveKind::all_reduce, model.squares()),
                              {squares, squares});
}

std::size_t ShardedStep::unit_of(const ParameterRange& block) const {
  const auto same = [&](const Unit& each) { return each.range.first == block.first; };
  return static_cast<std::size_t>(std::find_if(units().begin(), units().end(), same) -
                                  units().begin());
}

// Behind `unit`, or before it; blocks follow each other.
std::optional<std::size_t> ShardedStep::next_block(std::size_t unit, int direction) const {
  const std::size_t next = direction > 0 ? unit + 1 : unit - 1;  // before the first: none
  if (next >= units().size() || !units()[next].block) return std::nullopt;
  return next;
}

void ShardedStep::enqueue_gather(Stream& stream, std::size_t unit) {
  communication_.run(stream, "all_gather", [&](Stream& own) { plans_[unit].gather->enqueue(own); });
}

// Later work of `stream` than it has now must not use the buffer's present contents.
void ShardedStep::gather(Stream& stream, std::size_t unit) {
  Buffer& buffer = buffer_of(unit);
  if (buffer.holds == unit) return;
  enqueue_gather(stream, unit);
  buffer.holds = unit;
  buffer.gathered = &communication_.mark();
}

void ShardedStep::forward(Stream& stream) {
  buffers_.assign(buffers_.size(), {});
  reduced_ = {};
  behind_blocks_ = nullptr;
  std::size_t unit = 0;
  while (unit < units().size() && !units()[unit].block) enqueue_gather(stream, unit++);
  communication_.wait(stream, communication_.mark());
  if (unit < units().size()) gather(stream, unit);
  model_.forward(stream, [&](const ParameterRange& block) {
    begin_block(stream, block, 1);
    gather_behind_blocks(stream, unit_of(block));
  });
}

// Begins with the first block, after the gathering of the second, and ends before the last.
void ShardedStep::gather_behind_blocks(Stream& stream, std::size_t unit) {
  if (behind_blocks_ == nullptr) {
    for (std::size_t i = unit; i < units().size(); ++i) {
      if (!units()[i].block) enqueue_gather(stream, i);
    }
    behind_blocks_ = &communication_.mark();
  }
  if (next_block(unit, 1)) return;
  communication_.wait(stream, *behind_blocks_);
}

// While this block computes, the next one's parameters are gathered. A block overwrites the
// gradients of the block that had their buffer before, which must have been reduced.
void ShardedStep::begin_block(Stream& stream, const ParameterRange& block, int direction) {
  const std::size_t unit = unit_of(block);
  if (const auto next = next_block(unit, direction)) gather(stream, *next);
  for (Event** const needed : {&buffer_of(unit).gathered, &reduced_before(unit)}) {
    if (*needed != nullptr) communication_.wait(stream, **needed);
    *needed = nullptr;
  }
}

void ShardedStep::backward(Stream& stream, Accumulate gradients) {
  if (gradients != Accumulate::no) throw BadArgument("a sharded step adds no gradients");
  model_.backward(
      stream, gradients, [&](const ParameterRange& range) { reduce(stream, range); },
      [&](const ParameterRange& block) { begin_block(stream, block, -1); });
  communication_.join(stream);
  sum_parts(stream);
}

void ShardedStep::set_timeline(StepTimeline* timeline) {
  communication_.set_timeline(timeline);
  timeline_ = timeline;
}

void ShardedStep::sum_parts(Stream& stream) {
  if (sum_parts_ == nullptr) return;
  stream.launch(*sum_parts_);
  if (timeline_ != nullptr) timeline_->ended(stream, name(StepPart::elementwise));
}

void ShardedStep::reduce(Stream& stream, const ParameterRange& complete) {
  for (std::size_t unit = 0; unit < units().size(); ++unit) {
    const ParameterRange& own = units()[unit].range;
    if (own.first < complete.first || own.last > complete.last) continue;
    communication_.run(stream, sum_parts_ != nullptr ? "all_to_all" : "reduce_scatter",
                       [&](Stream& own_stream) { plans_[unit].reduce->enqueue(own_stream); });
    if (units()[unit].block) reduced_before(unit) = &communication_.mark();
  }
}

// A backward pass gathers all blocks again but the last ones, which the buffers still hold.
void ShardedStep::communicate(Stream& stream) {
  std::size_t blocks = 0;
  for (std::size_t unit = 0; unit < units().size(); ++unit) {
    plans_[unit].gather->enqueue(stream);
    if (units()[unit].block && blocks++ >= buffers_.size()) plans_[unit].gather->enqueue(stream);
    plans_[unit].reduce->enqueue(stream);
  }
  sum_parts(stream);
}

double ShardedStep::wire_bytes() const {
  double bytes = 0;
  std::size_t blocks = 0;
  for (std::size_t unit = 0; unit < units().size(); ++unit) {
    const bool again = units()[unit].block && blocks++ >= buffers_.size();
    bytes +=
        (again ? 2 : 1) * plans_[unit].gather->wire_bytes() + plans_[unit].reduce->wire_bytes();
  }
  return bytes;
}

std::map<std::string, std::string> ShardedStep::notes() const {
  const auto less = [](const Unit& one, const Unit& other) {
    return one.full.bytes() < other.full.bytes();
  };
  const auto largest = std::max_element(units().begin(), units().end(), less) - units().begin();
  const UnitPlans& plans = plans_[static_cast<std::size_t>(largest)];
  return {{"algorithm", plans.gather->algorithm() + "; " + plans.reduce->algorithm()},
          {"units", std::to_string(units().size())}};
}

}  // namespace duet
