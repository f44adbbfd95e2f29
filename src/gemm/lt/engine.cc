// Two engines of cuBLASLt or hipBLASLt: the first algorithm of the library's own ranking, and the
// one that tuning chooses.
#include <fmt/format.h>

#include <cstring>

#include "gemm/lt/engines.h"
#include "gemm/lt/problem.h"
#include "gemm/lt/tuner.h"
#include "gemm/tuning.h"
#include "gemm/workspace.h"

namespace duet::DUET_GPU {
namespace {

class LtPlan : public GemmPlan {
 public:
  LtPlan(GpuDevice& device, LtProblem problem, const LtAlgorithm& algorithm,
         const std::optional<Span>& workspace)
      : problem_(std::move(problem)),
        algorithm_(algorithm),
        workspace_(device, algorithm.workspace_bytes, workspace) {}

  void enqueue(Stream& stream, const GemmBuffers& buffers) override {
    stream.device().make_current();
    DUET_LT_CHECK(problem_.run(algorithm_, buffers, workspace_.span(),
                               static_cast<gpuStream_t>(stream.native())));
  }

  bool takes_addend() const override { return true; }
  std::uint64_t workspace_bytes() const override { return workspace_.own_bytes(); }
  std::string algorithm() const override { return describe(algorithm_) + note_; }
  void set_note(const std::string& note) { note_ = note; }

 private:
  LtProblem problem_;
  LtAlgorithm algorithm_;
  Workspace workspace_;
  std::string note_;
};

class LtEngine : public GemmEngine {
 public:
  explicit LtEngine(bool tuned) : tuned_(tuned) {}

  std::string name() const override { return tuned_ ? DUET_LT "-tuned" : DUET_LT; }
  std::string device_kind() const override { return DUET_GPU_NAME; }

  std::optional<Skipped> unsupported(Device& device, const GemmProblem& problem) const override {
    try {
      const LtProblem described(dynamic_cast<GpuDevice&>(device), problem);
      if (!described.heuristics(kUsualWorkspace, 1).empty()) return std::nullopt;
    } catch (const Unavailable& error) {
      return Skipped{error.what()};
    }
    return Skipped{fmt::format(DUET_LT_LIBRARY " has no algorithm for {} on {}{}",
                               duet::name(problem), device.info().model,
                               problem.layout == Layout::nt ? "" : " (try layout nt)")};
  }

  std::unique_ptr<GemmPlan> plan(Device& device, const GemmProblem& problem,
                                 const GemmBuffers& buffers, const Tuning& tuning) override {
    auto& gpu = dynamic_cast<GpuDevice&>(device);
    LtProblem described(gpu, problem);
    if (tuned_) return tuned_plan(gpu, std::move(described), buffers, tuning);
    const auto first = described.heuristics(kUsualWorkspace, 1);
    if (first.empty())
      throw Unavailable(DUET_LT_LIBRARY " has no algorithm for " + duet::name(problem));
    return std::make_unique<LtPlan>(gpu, std::move(described), first.front(), tuning.workspace);
  }

 private:
  std::unique_ptr<GemmPlan> tuned_plan(GpuDevice& device, LtProblem described,
                                       const GemmBuffers& buffers, const Tuning& tuning) const {
    const std::string key =
        tuning_key({device.info().model, lt_version(described.handle()), name()},
                   described.problem(), tuning.flushed);
    std::string note;
    LtAlgorithm algorithm;
    if (!from_cache(described, key, algorithm)) {
      algorithm = tune(device, described, buffers, tuning);
      note = remember(key, algorithm);
    } else {
      note = " (from the tuning cache)";
    }
    auto plan = std::make_unique<LtPlan>(device, std::move(described), algorithm, tuning.workspace);
    plan->set_note(note);
    return plan;
  }

  // False if the cache has no choice, or one that this library does not accept.
  static bool from_cache(const LtProblem& problem, const std::string& key, LtAlgorithm& algorithm) {
    const auto choice = tuning_cache().find(key);
    if (!choice || choice->algorithm.size() != sizeof algorithm.algo) return false;
    std::memcpy(&algorithm.algo, choice->algorithm.data(), sizeof algorithm.algo);
    return problem.check(algorithm);
  }

  // If the cache cannot be written, this run goes on, and later runs must tune again.
  static std::string remember(const std::string& key, const LtAlgorithm& algorithm) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(&algorithm.algo);
    try {
      tuning_cache().store(
          key,
          {{begin, begin + sizeof algorithm.algo}, algorithm.workspace_bytes, describe(algorithm)});
    } catch (const Error& error) {
      return fmt::format("; {}", error.what());
    }
    return "";
  }

  bool tuned_;
};

}  // namespace

void register_lt_engines() {
  register_gemm_engine(std::make_unique<LtEngine>(true));
  register_gemm_engine(std::make_unique<LtEngine>(false));
}

}  // namespace duet::DUET_GPU
