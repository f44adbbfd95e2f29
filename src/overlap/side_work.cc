#include "overlap/side_work.h"

#include <utility>

#include "collectives/collective_work.h"
#include "copy/copy_work.h"
#include "core/error.h"
#include "gemm/gemm_work.h"

namespace duet {
namespace {

// Session numbers: collectives that run on both sides at once need separate sessions.
constexpr int kComputing = 1, kCommunicating = 0;

std::unique_ptr<Work> copies(Team& team, const CopySide& side) {
  if (team.processes() != nullptr) {
    throw Unavailable("a copy beside another work: expected ranks of one process");
  }
  return std::make_unique<CopyWork>(team, transfers_of(side, team.size()));
}

std::unique_ptr<Work> piece_of(OverlapEngines& engines, const OverlapScenario& scenario,
                               const OverlapSide& side, const std::string& engine, int number) {
  Team& team = engines.team();
  if (const auto* gemm = std::get_if<GemmProblem>(&side)) {
    Tuning tuning;
    const FittedTraffic* fitted = fitted_traffic(scenario, team.machine());
    if (fitted != nullptr) tuning.simulated_traffic = fitted->traffic;
    return std::make_unique<GemmWork>(engines.gemm(), problem_of(scenario, *gemm), tuning,
                                      team.size());
  }
  if (const auto* copy = std::get_if<CopySide>(&side)) {
    return copies(team, copy_of(scenario, *copy));
  }
  const Collective asked = collective_of(scenario, std::get<CollectiveSide>(side), team.size());
  CollectiveSession& session = engines.session(engine, asked, scenario.in_place, number);
  return std::make_unique<CollectiveWork>(team, session, asked, scenario.in_place);
}

}  // namespace

SideWork::SideWork(std::unique_ptr<Work> piece, int pieces)
    : piece_(std::move(piece)), all_(std::make_unique<Repeated>(*piece_, pieces)) {}

SideWork SideWork::computing(OverlapEngines& engines, const OverlapScenario& scenario) {
  const OverlapSide& side = scenario.compute;
  return {piece_of(engines, scenario, side, engines.usual(side), kComputing), scenario.pieces};
}

SideWork SideWork::communicating(OverlapEngines& engines, const OverlapScenario& scenario,
                                 const std::string& engine) {
  return {piece_of(engines, scenario, scenario.communication, engine, kCommunicating),
          scenario.pieces};
}

SideWork SideWork::copying(OverlapEngines& engines, const OverlapScenario& scenario) {
  return {copies(engines.team(), copy_of(scenario, scenario.copy.value())), scenario.pieces};
}

std::string SideWork::algorithm() const {
  const auto* gemm = dynamic_cast<const GemmWork*>(piece_.get());
  return gemm != nullptr ? gemm->algorithm() : "";
}

}  // namespace duet
