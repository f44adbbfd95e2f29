#include <string>

#include "halo/cases.h"

namespace duet {
namespace {

bool scales(const Finished& one) {
  return one.id.benchmark == "halo" && one.median_seconds > 0 &&
         one.id.axes.text("scaling").value_or("none") != "none";
}

// Cases of one problem, whatever the engine and the number of ranks.
std::string problem_of(const CaseId& id) {
  return id.device + "|" + id.axes.without({"ranks", "overlap", "graph"}).key();
}

const Finished* baseline_of(const Finished& one, const std::vector<Finished>& finished) {
  const Finished* best = nullptr;
  for (const Finished& other : finished) {
    const bool alone = scales(other) && other.id.axes.number("ranks") == 1 &&
                       problem_of(other.id) == problem_of(one.id);
    if (alone && (best == nullptr || other.median_seconds < best->median_seconds)) best = &other;
  }
  return best;
}

}  // namespace

std::vector<Measurement> halo_scaling(const std::vector<Finished>& finished) {
  std::vector<Measurement> results;
  for (const Finished& one : finished) {
    const auto ranks = static_cast<double>(one.id.axes.number("ranks").value_or(1));
    if (!scales(one) || ranks < 2) continue;
    const Finished* const alone = baseline_of(one, finished);
    if (alone == nullptr) continue;
    const bool weak = one.id.axes.text("scaling") == "weak";
    const double speedup = (weak ? ranks : 1) * alone->median_seconds / one.median_seconds;
    Measurement result;
    result.id = one.id;
    result.id.benchmark = "halo_scaling";
    result.rates = {{"efficiency", speedup / ranks},
                    {"speedup", speedup},
                    {"baseline_seconds", alone->median_seconds}};
    result.notes = {{"baseline", alone->id.engine}};
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace duet
