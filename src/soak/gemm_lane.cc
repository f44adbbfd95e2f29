#include "soak/gemm_lane.h"

#include <fmt/format.h>

#include "core/error.h"
#include "device/compare_spans.h"
#include "gemm/verification.h"
#include "soak/difference.h"
#include "soak/lanes.h"

namespace duet {
namespace {

std::uint64_t elements_bytes(std::int64_t rows, std::int64_t columns, DType dtype) {
  return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns) * size_of(dtype);
}

}  // namespace

SoakGemm::SoakGemm(Rank& rank, GemmEngine& engine, const SoakRoundPlan& plan, int most)
    : device_(rank.device),
      engine_(engine),
      problem_(plan.gemm),
      most_(most),
      fill_a_{FillKind::normal, soak_seed(plan, 0, kSoakMatrixA, 0), 0, problem_.dtype},
      fill_b_{FillKind::normal, soak_seed(plan, 0, kSoakMatrixB, 0), 0, problem_.dtype},
      a_(device_.allocate(elements_bytes(problem_.m, problem_.k, problem_.dtype))),
      b_(device_.allocate(elements_bytes(problem_.k, problem_.n, problem_.dtype))),
      first_(device_.allocate(elements_bytes(problem_.m, problem_.n, problem_.output))),
      stream_(device_.make_stream()) {
  for (int slot = 0; slot < 2 * most_; ++slot) slots_.push_back(device_.allocate(first_.bytes()));
  for (Set& set : sets_) {
    set.begin = device_.make_event();
    set.end = device_.make_event();
  }
  stream_->fill(a_.span(), fill_a_);
  stream_->fill(b_.span(), fill_b_);
  stream_->synchronize(kSoakDeadline);
  Tuning tuning;
  tuning.seconds = 1;
  tuning.reproducible = true;
  plan_ = engine_.plan(device_, problem_, into(first_.span()), tuning);
  multiply(first_.span(), *stream_);
  stream_->synchronize(kSoakDeadline);
}

// Poisons before, so that the product of an earlier call does not pass.
void SoakGemm::multiply(const Span& c, Stream& stream) {
  stream.fill(c, {FillKind::constant, poison(problem_.output), 0, problem_.output});
  plan_->enqueue(stream, into(c));
}

std::optional<SoakFinding> SoakGemm::check_first() const {
  if (plan_->unverifiable(into(first_.span()))) return std::nullopt;
  try {
    const std::string whose =
        fmt::format("{} on {}: {}", engine_.name(), device_.info().name, name(problem_));
    require_written(device_, first_.span(), problem_.n, problem_.output, whose);
    require_rows(device_, problem_, into(first_.span()), {}, whose);
  } catch (const Mismatch& error) {
    return SoakFinding{SoakFault::core, device_.info().name, error.what()};
  }
  return std::nullopt;
}

bool SoakGemm::comparable(const SoakGemm& other) const {
  const DeviceInfo &one = device_.info(), &two = other.device_.info();
  return one.model == two.model && one.compute_units == two.compute_units &&
         plan_->algorithm() == other.plan_->algorithm();
}

std::optional<SoakFinding> SoakGemm::compare_first(const SoakGemm& other) const {
  const Span copied = slots_.front().span();
  const auto stream = device_.make_stream();
  stream->copy({copied, other.first_.span(), Executor::dma, {}});
  stream->synchronize(kSoakDeadline);
  if (!device_.has_contents(copied)) return std::nullopt;
  const auto difference = compare_spans(first_.span(), copied);
  if (!difference) return std::nullopt;
  return SoakFinding{
      SoakFault::core, device_.info().name,
      fmt::format("{} {}: not the product of {}: {}", engine_.name(), name(problem_),
                  other.device_.info().name, difference_text(first_.span(), *difference, copied))};
}

void SoakGemm::enqueue(int set, int products, int repeats) {
  Set& own = sets_[set];
  stream_->record(*own.begin);
  for (int i = 0; i < products; ++i) {
    const Span slot = slots_[static_cast<std::size_t>(set * most_ + i)].span();
    for (int repeat = 0; repeat < repeats; ++repeat) multiply(slot, *stream_);
  }
  stream_->record(*own.end);
}

double SoakGemm::wait(int set) {
  const Set& own = sets_[set];
  own.end->synchronize(kSoakDeadline);
  return own.end->seconds_since(*own.begin);
}

std::vector<SoakFinding> SoakGemm::check(int set, int products, int& wrong) {
  std::vector<SoakFinding> findings;
  for (int i = 0; i < products; ++i) {
    const Span slot = slots_[static_cast<std::size_t>(set * most_ + i)].span();
    if (!device_.has_contents(slot)) continue;
    const auto difference = compare_spans(slot, first_.span());
    if (!difference) continue;
    ++wrong;
    if (findings.size() < kMostSoakFindings) findings.push_back(placed(slot, *difference));
  }
  return findings;
}

// Where a wrong product comes from: an input that has changed, memory that does not keep it, or the
// multiplication. Waits for the stream: a plan's calls must not run on two streams at once.
SoakFinding SoakGemm::placed(const Span& slot, const Difference& difference) {
  const std::string& place = device_.info().name;
  const std::string what = fmt::format("{} {}: {}", engine_.name(), name(problem_),
                                       difference_text(slot, difference, first_.span()));
  stream_->synchronize(kSoakDeadline);
  if (const auto changed = changed_input(a_.span(), fill_a_, "A")) return *changed;
  if (const auto changed = changed_input(b_.span(), fill_b_, "B")) return *changed;
  if (!keeps(slot, {FillKind::pattern, difference.first_offset, 0, DType::fp32})) {
    return {SoakFault::memory, place, what + "; the memory does not keep what is written to it"};
  }
  multiply(slot, *stream_);
  stream_->synchronize(kSoakDeadline);
  const bool right = !compare_spans(slot, first_.span());
  return {SoakFault::core, place,
          what + (right ? "; the same product once more is right"
                        : "; the same product once more differs from the first one as well")};
}

std::optional<SoakFinding> SoakGemm::changed_input(const Span& matrix, const Fill& fill,
                                                   const char* name) const {
  try {
    const Buffer again = device_.allocate(matrix.bytes);
    const auto stream = device_.make_stream();
    stream->fill(again.span(), fill);
    stream->synchronize(kSoakDeadline);
    const auto difference = compare_spans(matrix, again.span());
    if (!difference) return std::nullopt;
    return SoakFinding{SoakFault::memory, device_.info().name,
                       fmt::format("input {} of a product: {}", name,
                                   difference_text(matrix, *difference, again.span()))};
  } catch (const OutOfMemory&) {
    return std::nullopt;
  }
}

}  // namespace duet
