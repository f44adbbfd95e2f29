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

void add_moe_rows(Measurement& result, const MoeWork& work, const MoePhaseTimes& phases) {
  std::uint64_t wire = 0, logical = 0, multiplied = 0, most = 0;
  const int ranks = work.rows(0).ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    std::uint64_t sent = 0, received = 0, arrived = 0, own = 0;
    for (std::size_t batch = 0; batch < work.batches(); ++batch) {
      const ExchangedRows& rows = work.rows(batch);
      sent += rows.wire_rows_sent(rank);
      received += rows.wire_rows_received(rank);
      arrived += rows.arrivals[static_cast<std::size_t>(rank)].size();
      own += rows.multiplied[static_cast<std::size_t>(rank)].size();
    }
    wire = std::max({wire, sent, received});
    logical = std::max(logical, arrived);
    most = std::max(most, own);
    multiplied += own;
  }
  const MoeShape& shape = work.shape();
  for (const auto& [phase, row_bytes] :
       {std::pair{"dispatch", shape.dispatched_bytes()}, {"combine", shape.combined_bytes()}}) {
    const auto timed = std::find_if(phases.begin(), phases.end(), [name = phase](const auto& each) {
      return each.first == name;
    });
    for (const auto& [base, rows] : {std::pair{"wire", wire}, {"logical", logical}}) {
      const auto bytes = static_cast<double>(rows * row_bytes);
      result.metrics.emplace_back(fmt::format("{}_{}_bytes", phase, base), bytes);
      if (timed == phases.end() || timed->second <= 0) continue;
      result.metrics.emplace_back(fmt::format("{}_{}_gb_per_s", phase, base),
                                  bytes * 1e-9 / timed->second);
    }
  }
  result.metrics.emplace_back("wire_rows", static_cast<double>(wire));
  result.metrics.emplace_back("rows_max_over_mean",
                              static_cast<double>(most) * ranks / static_cast<double>(multiplied));
}

}  // namespace duet
