#include "training/parallel/expert_step.h"

#include "core/error.h"

namespace duet {
namespace {

constexpr double kExpertPassSeconds = 600;

// The parameters of a range that all ranks have: its last ones are those of which each has a part.
ParameterRange whole_ones(const Parameters& parameters, ParameterRange range) {
  const auto is_whole = [&](std::size_t index) {
    return parameters.all()[index].about.part.is_whole();
  };
  while (range.last > range.first && !is_whole(range.last - 1)) --range.last;
  for (std::size_t i = range.first; i < range.last; ++i) {
    if (!is_whole(i)) throw BadArgument("a range of parameters: expected experts at its end");
  }
  return range;
}

}  // namespace

// Sums run beside the exchange of rows, so that these do not share memory with them.
ExpertStep::ExpertStep(Rank& rank, CollectiveSession& session, Model& model,
                       const std::vector<ParameterRange>& ranges, std::uint64_t least_bytes,
                       const StreamOptions& options)
    : exchanging_(model, &rows_) {
  {
    const PlannedRowExchange::Planning planning(rows_, rank, session);
    const auto stream = rank.device.make_stream();
    model.forward(*stream);
    model.backward(*stream, Accumulate::no);
    stream->synchronize(kExpertPassSeconds);
  }
  std::vector<ParameterRange> whole;
  for (const ParameterRange& each : ranges) whole.push_back(whole_ones(model.parameters(), each));
  sums_ = std::make_unique<GradientBuckets>(rank, session, model, whole, least_bytes, options);
  const Tensor& squares = model.squares();
  sum_squares_ = session.plan(rank, GradientBuckets::sum(squares.dtype, squares.count()),
                              {squares.span, squares.span});
}

void ExpertStep::communicate(Stream& stream) {
  for (CollectivePlan* const each : rows_.calls()) each->enqueue(stream);
  sums_->communicate(stream);
}

void ExpertStep::set_timeline(StepTimeline* timeline) {
  rows_.set_timeline(timeline);
  sums_->set_timeline(timeline);
}

std::map<std::string, std::string> ExpertStep::notes() const {
  std::map<std::string, std::string> notes = sums_->notes();
  notes["algorithm"] = rows_.algorithms() + "; " + notes["algorithm"];
  notes["exchanges"] = std::to_string(rows_.calls().size());
  return notes;
}

}  // namespace duet
