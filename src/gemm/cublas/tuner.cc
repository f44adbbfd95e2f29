// Heats over the library's ranking, then over the neighbours of the leaders, then the final.
#include "gemm/cublas/tuner.h"

#include <algorithm>
#include <chrono>

#include "gemm/cublas/candidates.h"
#include "gemm/race.h"
#include "gemm/tuning.h"

namespace duet::cuda {
namespace {

constexpr double kDeadlineSeconds = 60;
constexpr int kParents = 4;  // leaders whose neighbours are tried
constexpr int kGenerations = 2;

// Shares of the time that tuning may take.
constexpr double kRankingShare = 0.2;
constexpr double kGenerationShare = 0.1;
constexpr double kRestShare = 0.05;
constexpr double kSemiFinalShare = 0.2;
constexpr double kFinalShare = 0.35;

class Track : public RaceTrack {
 public:
  Track(GpuDevice& device, const LtProblem& problem, const GemmBuffers& buffers)
      : problem_(problem),
        buffers_(buffers),
        candidates(problem),
        stream_(device.make_stream({})),
        begin_(device.make_event()),
        end_(device.make_event()),
        workspace_(device.allocate(kMostWorkspace)) {}

  std::optional<double> time(int candidate, int calls) override {
    auto* native = static_cast<gpuStream_t>(stream_->native());
    stream_->record(*begin_);
    for (int i = 0; i < calls; ++i) {
      const cublasStatus_t status =
          problem_.run(candidates[candidate], buffers_, workspace_.span(), native);
      if (status != CUBLAS_STATUS_SUCCESS) {
        forget(gpuGetLastError());  // a refused launch may leave one behind
        return std::nullopt;
      }
    }
    stream_->record(*end_);
    stream_->synchronize(kDeadlineSeconds);
    return end_->seconds_since(*begin_) / calls;
  }

  double now() override {
    using clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
  }

 private:
  const LtProblem& problem_;
  GemmBuffers buffers_;

 public:
  Candidates candidates;

 private:
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> begin_, end_;
  Buffer workspace_;
};

// What has been added since `raced` runs its heat.
void heat_new(Race& race, const Track& track, int& raced, double share) {
  race.heat(raced, track.candidates.size(), share * tuning_seconds());
  raced = track.candidates.size();
}

}  // namespace

LtAlgorithm tune(GpuDevice& device, const LtProblem& problem, const GemmBuffers& buffers) {
  Track track(device, problem, buffers);
  RaceOptions options;
  options.semi_final_seconds = kSemiFinalShare * tuning_seconds();
  options.final_seconds = kFinalShare * tuning_seconds();
  Race race(track, options);
  int raced = 0;
  track.candidates.add_heuristics();
  heat_new(race, track, raced, kRankingShare);
  for (int generation = 0; generation < kGenerations; ++generation) {
    for (int parent : race.leaders(kParents)) track.candidates.add_neighbours(parent);
    heat_new(race, track, raced, kGenerationShare);
  }
  track.candidates.add_all();
  heat_new(race, track, raced, kRestShare);
  const int winner = race.final();
  if (winner < 0)
    throw Unavailable("cuBLASLt has no algorithm that runs " + name(problem.problem()));
  return track.candidates[winner];
}

}  // namespace duet::cuda
