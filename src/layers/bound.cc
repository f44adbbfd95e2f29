#include "layers/bound.h"

#include <algorithm>

#include "gemm/problem.h"

namespace duet {
namespace {

// Bytes a second of one device to its peers by copy engines.
double sending_rate(const DeviceSpec& spec, int ranks) {
  const LinkSpec& link = *spec.link;
  const int links = link.mesh ? std::min(ranks - 1, link.count) : link.count;
  CopyRule copy;
  copy.kind = "peer";
  copy.executor = "dma";
  copy.issue = "push";
  copy.pattern = ranks > 2 ? "all_pairs" : "pair";
  const CopyRule* const rule = find_copy_rule(spec, copy);
  const double efficiency = rule != nullptr ? rule->efficiency : 1;
  return 1e9 * efficiency * link.gb_per_s / link.count * links;
}

}  // namespace

double sent_bytes(const Layer& layer, int ranks) {
  double sent = 0;
  for (const LayerOperation& each : layer.operations) {
    const bool gathers = each.kind == LayerKind::gather_gemm;
    const DType moved = gathers ? each.dtype : default_output(each.dtype);
    const double bytes = static_cast<double>(each.m * (gathers ? each.k : each.n)) *
                         static_cast<double>(size_of(moved));
    sent += (gathers || scatters(each.kind) ? 1 : 2) * bytes * (ranks - 1) / ranks;
  }
  return sent;
}

std::optional<double> bound_seconds(const Layer& layer, int ranks, double gemm_seconds,
                                    const DeviceSpec& spec) {
  if (!spec.link || ranks < 2) return std::nullopt;
  const double sent = sent_bytes(layer, ranks);
  const double moving = sent / sending_rate(spec, ranks);
  const double watts = spec.watts_above_idle;
  const double lost = watts > 0 ? spec.dma_joules_per_gb * 1e-9 * sent / (3 * watts) : 0;
  return std::max(gemm_seconds, moving) + lost;
}

}  // namespace duet
