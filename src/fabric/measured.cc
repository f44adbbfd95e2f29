#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "fabric/trial.h"
#include "timing/statistics.h"
#include "timing/work.h"

namespace duet {
namespace {

// Of an all_to_all what leaves one process.
Cost cost_of(const FabricSession& session, const FabricTask& task) {
  const bool all = task.operation == FabricOperation::all_to_all;
  const double ways = task.bidirectional && !all ? 2 : 1;
  Cost cost;
  cost.more = {{kNetworkBytes, (all ? task.messages : ways) * static_cast<double>(task.bytes)},
               {kLinkGbitPerS, ways * session.link_gbit(task.mode)}};
  return cost;
}

// Process 0's; in another one, which keeps no records, there may be none.
void add_latencies(std::vector<double> seconds, Measurement& result) {
  if (seconds.empty()) return;
  std::sort(seconds.begin(), seconds.end());
  const std::pair<const char*, double> wanted[] = {
      {"latency_p50_us", 0.5}, {"latency_p95_us", 0.95}, {"latency_p99_us", 0.99}};
  for (const auto& [rate, q] : wanted) result.rates.emplace_back(rate, 1e6 * quantile(seconds, q));
}

void add_proxy_times(const ProxyTimes& times, Measurement& result) {
  const std::pair<const char*, const std::vector<double>*> parts[] = {
      {"push_us", &times.push},
      {"poll_us", &times.poll},
      {"post_us", &times.post},
      {"completion_us", &times.completion}};
  for (const auto& [rate, seconds] : parts) {
    if (!seconds->empty()) result.rates.emplace_back(rate, 1e6 * summarise(*seconds).median);
  }
}

// What the EFA study calls an all_to_all of such memory over such rails; "" where it has none.
std::string name_in_the_study(const FabricTask& task) {
  if (!task.all_to_all() || task.memory == MemoryKind::pageable) return "";
  const bool own = task.memory == MemoryKind::device;
  if (task.mode == RailMode::round_robin) return own ? "RoundRobinDMA" : "";
  return std::string(task.mode == RailMode::single ? "Single" : "Multi") + (own ? "DMA" : "Pin");
}

}  // namespace

void measure_fabric(FabricSession& session, const FabricTask& task, Device& device,
                    const Mode& mode, const std::function<bool()>& stop, Measurement& result) {
  const std::size_t lost = session.loss_reasons().size();
  FabricTrial trial(session, task, device, stop);
  result.sampling = sample(trial, mode, [&] { return trial.stop(); });
  result.sampling->verified = true;
  result.cost = cost_of(session, task);
  add_latencies(trial.latencies(result.sampling->warm_ups), result);
  add_proxy_times(trial.proxy_times(), result);
  if (!trial.memory_how().empty()) result.notes.emplace_back("memory", trial.memory_how());
  const std::string known_as = name_in_the_study(task);
  if (!known_as.empty()) result.notes.emplace_back("known_as", known_as);
  result.notes.emplace_back("from", device.info().name);
  std::vector<std::string> rails;
  for (const RailInfo& rail : session.infos()) rails.push_back(rail_name(rail));
  result.notes.emplace_back("rails", fmt::format("{}", fmt::join(rails, ", ")));
  for (const int rail : session.rails().all_living()) {
    const std::string remark = session.rails().at(rail).remark();
    if (!remark.empty()) result.warnings.push_back(session.rails().name(rail) + ": " + remark);
  }
  const std::vector<std::string> all = session.loss_reasons();
  for (std::size_t i = lost; i < all.size(); ++i) {
    result.warnings.push_back(all[i] + "; the other rails took over");
  }
}

}  // namespace duet
