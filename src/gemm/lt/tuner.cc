// The first round runs over the library's ranking, then over variations of the leaders, then over
// all other algorithms. The second and final rounds choose among the fastest.
#include "gemm/lt/tuner.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/clock.h"
#include "core/deadline.h"
#include "gemm/candidate_search.h"
#include "gemm/lt/candidates.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kParents = 4;  // leaders of which variations are tried
constexpr int kGenerations = 2;

// Shares of the time that tuning may take.
constexpr double kRankingShare = 0.15;
constexpr double kGenerationShare = 0.08;
constexpr double kRestShare = 0.04;
constexpr double kSemiFinalShare = 0.15;
constexpr double kFinalShare = 0.5;

// Bursts of a candidate in the final round. An H200 at its power cap takes some 0.1 s to find the
// clock for another kernel, and its clock swings by 2% from one tenth of a second to the next.
constexpr int kFinalBursts = 3;
constexpr double kLongestFinalBurst = 0.4;

class LtTimer : public CandidateTimer {
 public:
  LtTimer(GpuDevice& device, const LtProblem& problem, const GemmBuffers& buffers, bool flushed)
      : candidates(problem),
        problem_(problem),
        buffers_(buffers),
        stream_(device.make_stream({})),
        workspace_(device.allocate(kMostWorkspace)) {
    if (flushed) flush_ = device.allocate(2 * device.info().cache_bytes);
    for (int i = 0; i < kMostCalls; ++i) {
      begins_.push_back(device.make_event());
      ends_.push_back(device.make_event());
    }
  }

  std::optional<double> time(int candidate, int calls) override {
    return flush_.bytes() > 0 ? time_flushed(candidate, calls) : time_together(candidate, calls);
  }

  double now() override { return steady_now(); }

  Candidates candidates;

 private:
  static constexpr int kMostCalls = 256;  // calls that each have their own events

  std::optional<double> time_together(int candidate, int calls) {
    stream_->record(*begins_[0]);
    for (int i = 0; i < calls; ++i) {
      if (!run(candidate)) return std::nullopt;
    }
    stream_->record(*ends_[0]);
    stream_->synchronize(kDefaultDeadlineSeconds);
    return ends_[0]->seconds_since(*begins_[0]) / calls;
  }

  // Flushes the cache before each call, as the sampler does.
  std::optional<double> time_flushed(int candidate, int calls) {
    const auto count = static_cast<std::size_t>(std::min(calls, kMostCalls));
    for (std::size_t i = 0; i < count; ++i) {
      stream_->fill(flush_.span(), {FillKind::constant, i & 0xFF, 0, DType::fp32});
      stream_->record(*begins_[i]);
      if (!run(candidate)) return std::nullopt;
      stream_->record(*ends_[i]);
    }
    stream_->synchronize(kDefaultDeadlineSeconds);
    double seconds = 0;
    for (std::size_t i = 0; i < count; ++i) seconds += ends_[i]->seconds_since(*begins_[i]);
    return seconds / static_cast<double>(count);
  }

  bool run(int candidate) {
    const ltStatus_t status = problem_.run(candidates[candidate], buffers_, workspace_.span(),
                                           static_cast<gpuStream_t>(stream_->native()));
    // A refused launch leaves an error, which the next check would report.
    if (status != ltSuccess) forget(GPU(GetLastError)());
    return status == ltSuccess;
  }

  const LtProblem& problem_;
  GemmBuffers buffers_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<Event>> begins_, ends_;
  Buffer workspace_, flush_;
};

// Runs the first round over the candidates added since the last call; `timed` counts those before.
void time_new(CandidateSearch& search, const LtTimer& timer, int& timed, double seconds) {
  search.first_round(timed, timer.candidates.size(), seconds);
  timed = timer.candidates.size();
}

}  // namespace

LtAlgorithm tune(GpuDevice& device, const LtProblem& problem, const GemmBuffers& buffers,
                 const Tuning& tuning) {
  LtTimer timer(device, problem, buffers, tuning.flushed);
  SearchRounds options;
  options.second_round_seconds = kSemiFinalShare * tuning.seconds;
  options.final_round_seconds = kFinalShare * tuning.seconds;
  const double shorter = std::min(1.0, tuning.seconds);  // a burst's share of its usual time
  options.second_round_burst_seconds *= shorter;
  options.final_round_burst_seconds =
      std::clamp(options.final_round_seconds / (kFinalBursts * options.final_round_candidates),
                 options.final_round_burst_seconds * shorter, kLongestFinalBurst);
  CandidateSearch search(timer, options);
  int timed = 0;
  timer.candidates.add_heuristics();
  time_new(search, timer, timed, kRankingShare * tuning.seconds);
  for (int generation = 0; generation < kGenerations; ++generation) {
    for (int parent : search.leaders(kParents)) timer.candidates.add_neighbours(parent);
    time_new(search, timer, timed, kGenerationShare * tuning.seconds);
  }
  timer.candidates.add_all();
  time_new(search, timer, timed, kRestShare * tuning.seconds);
  const int winner = search.final_round();
  if (winner < 0)
    throw Unavailable(DUET_LT_LIBRARY " has no algorithm that runs " + name(problem.problem()));
  return timer.candidates[winner];
}

}  // namespace duet::DUET_GPU
