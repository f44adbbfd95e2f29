#include "moe/figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "timing/statistics.h"

namespace duet {

void add_moe_times(Measurement& result, const std::vector<Sampling>& sampled,
                   const MoePhaseTimes& phases) {
  const auto median = [&](std::size_t of) { return summarise(sampled[of].samples).median; };
  const double layer = median(0), experts = median(1);
  result.metrics.emplace_back("added_percent", 100 * (layer / experts - 1));
  result.metrics.emplace_back("experts_alone_seconds", experts);
  if (sampled.size() > 2) {
    const double serial = median(2);
    result.metrics.emplace_back("serial_seconds", serial);
    if (serial > experts)
      result.metrics.emplace_back("hidden_share", 1 - (layer - experts) / (serial - experts));
  }
  for (const auto& [phase, seconds] : phases)
    result.metrics.emplace_back(phase + "_seconds", seconds);
  for (std::size_t other = 1; other < sampled.size(); ++other) {
    const std::vector<std::string>& warnings = sampled[other].warnings;
    result.warnings.insert(result.warnings.end(), warnings.begin(), warnings.end());
  }
}

namespace {

// Rows of a hop: those that a rank sends to others or gets of them, and those that it gets.
struct MostRows {
  std::uint64_t wire = 0, logical = 0;  // the most of all ranks
};
MostRows most_rows(const MoeWork& work, std::size_t hop) {
  MostRows most;
  for (int rank = 0; rank < work.rows(0).ranks; ++rank) {
    std::uint64_t sent = 0, received = 0, arrived = 0;
    for (std::size_t batch = 0; batch < work.batches(); ++batch) {
      const RowHop& rows = work.rows(batch).hops[hop];
      sent += rows.wire_rows_sent(rank);
      received += rows.wire_rows_received(rank);
      arrived += rows.arrivals_of(rank).size();
    }
    most.wire = std::max({most.wire, sent, received});
    most.logical = std::max(most.logical, arrived);
  }
  return most;
}

void add_hop(Measurement& result, const MoeWork& work, const MoePhaseTimes& phases,
             std::size_t hop) {
  const MoeShape& shape = work.shape();
  const MostRows most = most_rows(work, hop);
  for (const auto& [base_phase, row_bytes] :
       {std::pair{"dispatch", shape.dispatched_bytes()}, {"combine", shape.combined_bytes()}}) {
    const std::string phase = phase_of_hop(base_phase, hop);
    const auto timed = std::find_if(phases.begin(), phases.end(),
                                    [&](const auto& each) { return each.first == phase; });
    for (const auto& [base, rows] : {std::pair{"wire", most.wire}, {"logical", most.logical}}) {
      const auto bytes = static_cast<double>(rows * row_bytes);
      result.metrics.emplace_back(fmt::format("{}_{}_bytes", phase, base), bytes);
      if (timed == phases.end() || timed->second <= 0) continue;
      result.metrics.emplace_back(fmt::format("{}_{}_gb_per_s", phase, base),
                                  bytes * 1e-9 / timed->second);
    }
  }
}

}  // namespace

void add_moe_rows(Measurement& result, const MoeWork& work, const MoePhaseTimes& phases) {
  std::uint64_t multiplied = 0, most = 0, on_rails = 0;
  const int ranks = work.rows(0).ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    std::uint64_t own = 0;
    for (std::size_t batch = 0; batch < work.batches(); ++batch)
      own += work.rows(batch).multiplied[static_cast<std::size_t>(rank)].size();
    most = std::max(most, own);
    multiplied += own;
  }
  std::uint64_t wire = 0;
  for (std::size_t hop = 0; hop < work.rows(0).hops.size(); ++hop) {
    add_hop(result, work, phases, hop);
    wire += most_rows(work, hop).wire;
  }
  result.metrics.emplace_back("wire_rows", static_cast<double>(wire));
  if (work.nodes().nodes() > 1 && work.nodes().not_uniform().empty()) {
    for (std::size_t batch = 0; batch < work.batches(); ++batch)
      on_rails += work.rows(batch).rail_rows(work.nodes());
    result.metrics.emplace_back("rail_rows", static_cast<double>(on_rails));
    result.metrics.emplace_back("dispatch_rail_bytes",
                                static_cast<double>(on_rails * work.shape().dispatched_bytes()));
  }
  result.metrics.emplace_back("rows_max_over_mean",
                              static_cast<double>(most) * ranks / static_cast<double>(multiplied));
}

}  // namespace duet
