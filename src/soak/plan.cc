#include "soak/plan.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace duet {
namespace {

constexpr std::uint64_t kMostRanks = 1 << 16, kMostLanes = 1 << 8;
// A copy to or from host memory is so many times smaller than one between devices, whose links are
// about as much faster.
constexpr std::uint64_t kHostShare = 8;

// Numbers of one round, one after the other.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  // From 0 to count - 1; `count` is at least 1.
  std::uint64_t below(std::uint64_t count) { return random_word(seed_, index_++) % count; }
  template <typename T>
  const T& one_of(const std::vector<T>& all) {
    return all[below(all.size())];
  }
  // Of any size class with equal probability, and of any bytes in it.
  std::uint64_t size(std::uint64_t least, std::uint64_t most) {
    const auto classes = static_cast<std::uint64_t>(std::max(
        0.0, std::floor(std::log2(static_cast<double>(most) / static_cast<double>(least)))));
    const std::uint64_t base = least << below(classes + 1);
    return std::min(most, base + below(base));
  }

 private:
  std::uint64_t seed_, index_ = 0;
};

}  // namespace

SoakRoundPlan soak_round(const SoakMenu& menu, std::uint64_t seed, int round) {
  Draw draw(random_word(seed, static_cast<std::uint64_t>(round)));
  SoakRoundPlan plan;
  plan.round = round;
  plan.seed = draw.below(~std::uint64_t{0});
  plan.gemm = draw.one_of(menu.gemms);
  plan.executor = draw.one_of(menu.executors);
  plan.peer_bytes = draw.size(menu.least_bytes, menu.most_bytes);
  plan.host_bytes = std::max<std::uint64_t>(1, plan.peer_bytes / kHostShare);
  if (menu.ranks > 1) {
    plan.shift = 1 + static_cast<int>(draw.below(static_cast<std::uint64_t>(menu.ranks - 1)));
  }
  if (menu.collectives.empty()) return plan;
  const SoakCollective& chosen = draw.one_of(menu.collectives);
  plan.engine = chosen.engine;
  plan.collective.kind = chosen.kind;
  plan.collective.dtype = chosen.dtype;
  plan.collective.root = chosen.kind == CollectiveKind::broadcast
                             ? static_cast<int>(draw.below(static_cast<std::uint64_t>(menu.ranks)))
                             : 0;
  plan.collective.count = std::max<std::uint64_t>(
      1, count_for(chosen.kind, chosen.dtype, draw.size(menu.least_bytes, menu.most_bytes),
                   menu.ranks));
  return plan;
}

std::uint64_t soak_seed(const SoakRoundPlan& plan, int batch, int lane, int rank) {
  const auto number =
      static_cast<std::uint64_t>(batch) * kMostLanes + static_cast<std::uint64_t>(lane);
  return random_word(plan.seed, number) / kMostRanks * kMostRanks +
         static_cast<std::uint64_t>(rank);
}

}  // namespace duet
