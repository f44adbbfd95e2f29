#include "fleet/judge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/names.h"
#include "fleet/levels.h"
#include "fleet/peers.h"
#include "timing/statistics.h"

namespace duet {
namespace {

constexpr NamedValue<Sureness> kSurenesses[] = {
    {Sureness::possible, "possible"}, {Sureness::likely, "likely"}, {Sureness::sure, "sure"}};

// Below this, values differ by a journal's rounding.
constexpr double kRounding = 1e-6;
// All figures of a kind together show a loss that no single one does, from so many on, and among
// so many places.
constexpr std::size_t kFewestFigures = 3, kFewestPlaces = 8;
constexpr double kClearlySlow = 3;  // standard deviations, in a figure of a place that is a suspect

std::size_t at(int number) { return static_cast<std::size_t>(number); }

// A value beside its peers.
struct Stand {
  int item = 0, figure = 0;
  double loss = 0;  // logarithm; negative: faster than its peers
  double t = 0;     // `loss` in standard deviations
  double freedom = 0;
};

Stand stand_of(const LevelValue& value, int figure, const Peers& peers) {
  const double within = value.deviation * value.deviation;
  const double deviation = std::max(std::sqrt(std::max(peers.variance, within)), kRounding);
  const double loss = peers.middle - value.value;
  return {value.item, figure, loss, loss / deviation, peers.freedom};
}

double share_of(double log_loss) { return -std::expm1(-log_loss); }

// Of all stands of a level: the probability that noise alone makes one of `count` as low, by half
// of kFalseAlarm's share of this level.
double chance_of(double t, double freedom, std::size_t count) {
  const double one = student_tails(t, freedom) / 2;
  return std::min(1.0, one * static_cast<double>(count) * 2 * kFleetLevels);
}

class FleetJudge {
 public:
  FleetJudge(const FleetSamples& samples, const std::vector<FleetGroup>& groups)
      : samples_(samples), groups_(groups), levels_(samples, groups) {
    by_figure_.resize(samples.figures().size());
    for (std::size_t i = 0; i < samples.samples().size(); ++i) {
      by_figure_[at(samples.samples()[i].figure)].push_back(i);
    }
    usual_.resize(by_figure_.size());
    for (const FleetSample& one : samples.samples()) {
      usual_[at(one.figure)] = std::max(usual_[at(one.figure)], one.usual);
    }
    for (std::size_t i = 0; i < samples.figures().size(); ++i) {
      by_kind_[samples.figures()[i].kind].push_back(static_cast<int>(i));
    }
  }

  FleetJudgement run() {
    center();
    judgement_.residuals = residuals_;
    for (int level = 0; level < kFleetLevels; ++level) judge(static_cast<FleetLevel>(level));
    for (auto& [place, suspect] : found_) judgement_.suspects.push_back(std::move(suspect));
    follow_parts();
    finish();
    return std::move(judgement_);
  }

 private:
  // Residuals: what is left of each sample without its peers' median.
  void center() {
    residuals_.resize(samples_.samples().size());
    for (const auto& members : by_figure_) {
      judgement_.figures.emplace_back();
      peers_at_a_position_.push_back(1);
      if (!members.empty()) center(members, judgement_.figures.back());
    }
  }

  void center(const std::vector<std::size_t>& members, FigurePeers& peers) {
    std::map<int, std::vector<double>> positions;
    std::vector<double> all;
    std::set<int> nodes;
    for (const std::size_t i : members) {
      const FleetSample& one = samples_.samples()[i];
      const FleetPlace& place = samples_.places()[at(one.place)];
      positions[place.position].push_back(one.value);
      all.push_back(one.value);
      for (const int unit : place.units) nodes.insert(samples_.units()[at(unit)].node);
    }
    peers.samples = static_cast<int>(members.size());
    peers.nodes = static_cast<int>(nodes.size());
    peers.judged = peers.samples >= kFewestPeers;
    peers.middle = middle_of(all);
    std::size_t& compared = peers_at_a_position_.back();
    compared = all.size();
    std::map<int, double> middles;
    for (auto& [position, values] : positions) {
      const bool own = values.size() >= static_cast<std::size_t>(kPositionPeers);
      if (own) compared = std::min(compared, values.size());
      middles[position] = own ? middle_of(std::move(values)) : peers.middle;
    }
    std::vector<double> left;
    for (const std::size_t i : members) {
      const FleetSample& one = samples_.samples()[i];
      residuals_[i] = one.value - middles[samples_.places()[at(one.place)].position];
      left.push_back(residuals_[i]);
    }
    peers.spread = robust_deviation(left, middle_of(left), compared);
  }

  // What a level has of one figure.
  struct LevelFigure {
    int figure = 0;
    std::vector<LevelValue> values;
    std::vector<double> base;  // values that they are compared with
  };

  std::vector<LevelFigure> figures_at(FleetLevel level) const {
    std::vector<LevelFigure> all;
    for (std::size_t figure = 0; figure < by_figure_.size(); ++figure) {
      if (!judgement_.figures[figure].judged) continue;
      const auto& members = by_figure_[figure];
      LevelFigure one{static_cast<int>(figure), levels_.values(level, members, residuals_), {}};
      if (one.values.empty()) continue;
      const bool group = level == FleetLevel::group;
      const auto nodes =
          group ? levels_.values_of_nodes(members, residuals_) : std::vector<LevelValue>();
      for (const LevelValue& each : group ? nodes : one.values) one.base.push_back(each.value);
      if (one.base.size() >= static_cast<std::size_t>(kFewestPeers)) all.push_back(std::move(one));
    }
    return all;
  }

  std::size_t compared(const LevelFigure& one) const {
    return std::min(one.base.size(), peers_at_a_position_[at(one.figure)]);
  }

  // The median over the figures of the variance among peers.
  double typical_variance(const std::vector<LevelFigure>& figures) const {
    std::vector<double> variances;
    for (const LevelFigure& one : figures) {
      const double deviation = robust_deviation(one.base, middle_of(one.base), compared(one));
      variances.push_back(deviation * deviation);
    }
    return variances.empty() ? 0 : middle_of(std::move(variances));
  }

  // The values of a level in all figures, beside their peers.
  std::vector<Stand> stands_at(FleetLevel level) const {
    const std::vector<LevelFigure> figures = figures_at(level);
    const double typical = typical_variance(figures);
    std::vector<Stand> stands;
    for (const LevelFigure& one : figures) {
      const double usual = std::pow(usual_[at(one.figure)], 2);
      const Peers peers = peers_of(one.base, std::max(usual, typical), compared(one));
      for (const LevelValue& value : one.values) {
        // Of the nodes that are compared, more than half cannot be unlike the others.
        if (level == FleetLevel::group && 2 * value.parts > one.base.size()) continue;
        stands.push_back(stand_of(value, one.figure, peers));
      }
    }
    return stands;
  }

  // The stands of each place in the figures of one kind.
  using KindStands = std::map<int, std::vector<Stand>>;

  // A suspect by the figures of one kind.
  struct KindSuspect {
    const std::vector<Stand>* stands = nullptr;
    double chance = 1;
    bool together = false;  // by all figures of the kind
  };
  using KindSuspects = std::map<int, KindSuspect>;

  void judge(FleetLevel level) {
    const std::vector<Stand> stands = stands_at(level);
    std::map<std::string, KindStands> kinds;
    std::size_t places = 0;
    for (const Stand& one : stands) {
      auto& of_item = kinds[samples_.figures()[at(one.figure)].kind][one.item];
      places += of_item.empty() ? 1 : 0;
      of_item.push_back(one);
    }
    for (const auto& [kind, items] : kinds) {
      const std::map<int, double> together = chances_together(items, places);
      KindSuspects suspects;
      for (const auto& [item, of_item] : items) {
        const auto all = together.find(item);
        const double chance_of_all = all == together.end() ? 1 : all->second;
        double chance = chance_of_all;
        for (const Stand& one : of_item) {
          if (share_of(one.loss) < kLeastLoss || one.t <= 0) continue;
          chance = std::min(chance, chance_of(one.t, one.freedom, stands.size()));
        }
        if (chance > kFalseAlarm) continue;
        suspects[item] = {&of_item, chance, chance_of_all <= kFalseAlarm};
      }
      take_off(level, suspects);
      if (level == FleetLevel::node) name_groups(kind, items, suspects);
      for (const auto& [item, one] : suspects) note(level, item, kind, one);
    }
  }

  // A group of which three quarters of the nodes are suspects, two or more, stands for them: of
  // smaller losses the nodes tell more surely than their upper quarter. As sure as the least sure.
  void name_groups(const std::string& kind, const KindStands& items, KindSuspects& suspects) {
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      std::size_t measured = 0, slow = 0;
      const KindSuspect* weakest = nullptr;
      for (const int node : groups_[group].nodes) {
        measured += items.count(node);
        const auto found = suspects.find(node);
        if (found == suspects.end()) continue;
        ++slow;
        if (weakest == nullptr || found->second.chance > weakest->chance) weakest = &found->second;
      }
      if (slow < 2 || 4 * slow < 3 * measured || 2 * measured > items.size()) continue;
      note(FleetLevel::group, static_cast<int>(group), kind, *weakest);
      for (const int node : groups_[group].nodes) suspects.erase(node);
    }
  }

  // For places that all figures of a kind show to be slow together, though perhaps none alone: the
  // median of their stands beside those of the other places.
  std::map<int, double> chances_together(const KindStands& items, std::size_t places) const {
    std::map<int, double> medians;
    std::map<int, double> chances;
    std::vector<double> all;
    std::size_t compared = items.size();
    for (const auto& [item, stands] : items) {
      if (stands.size() < kFewestFigures) continue;
      std::vector<double> ts, losses;
      for (const Stand& one : stands) {
        compared = std::min(compared, peers_at_a_position_[at(one.figure)]);
        ts.push_back(one.t);
        losses.push_back(one.loss);
      }
      all.push_back(middle_of(std::move(ts)));
      if (share_of(middle_of(std::move(losses))) >= kLeastLoss) medians[item] = all.back();
    }
    if (all.size() < kFewestPlaces) return chances;
    const Peers peers = peers_of(all, 1, compared);
    for (const auto& [item, median] : medians) {
      const double t = (median - peers.middle) / std::sqrt(peers.variance);
      if (t > 0) chances[item] = chance_of(t, peers.freedom, places);
    }
    return chances;
  }

  void note(FleetLevel level, int item, const std::string& kind, const KindSuspect& of) {
    FleetEvidence evidence;
    evidence.kind = kind;
    std::vector<double> losses;
    for (const Stand& one : *of.stands) {
      ++evidence.figures;
      const double loss = share_of(one.loss);
      if (loss < kLeastLoss || (one.t < kClearlySlow && !of.together)) continue;
      losses.push_back(loss);
      if (loss > evidence.most_loss) {
        evidence.most_loss = loss;
        evidence.slowest = one.figure;
      }
    }
    evidence.slow = static_cast<int>(losses.size());
    if (losses.empty()) return;
    evidence.loss = middle_of(std::move(losses));
    FleetSuspect& suspect = found_[{level, item}];
    suspect.level = level;
    suspect.item = item;
    suspect.chance = std::min(suspect.chance, of.chance);
    suspect.evidence.push_back(std::move(evidence));
  }

  // Takes what suspects miss off the samples of their places, in all figures of the kind.
  void take_off(FleetLevel level, const KindSuspects& suspects) {
    std::map<int, std::map<int, double>> losses;  // by figure and item
    for (const auto& [item, of] : suspects) {
      for (const Stand& one : *of.stands) {
        if (one.loss > 0) losses[one.figure][item] = one.loss;
      }
    }
    for (const auto& [figure, of_items] : losses) {
      for (const std::size_t i : by_figure_[at(figure)]) {
        double most = 0;
        for (const int item : levels_.items(level, samples_.samples()[i].place)) {
          const auto loss = of_items.find(item);
          if (loss != of_items.end()) most = std::max(most, loss->second);
        }
        residuals_[i] += most;
      }
    }
  }

  // The figures of a kind of which no sample tells devices or NICs apart.
  bool is_of_whole_nodes(const std::string& kind) const {
    for (const int figure : by_kind_.at(kind)) {
      for (const std::size_t i : by_figure_[at(figure)]) {
        for (const int unit : samples_.places()[at(samples_.samples()[i].place)].units) {
          if (!samples_.units()[at(unit)].name.empty()) return false;
        }
      }
    }
    return true;
  }

  // The strongest suspect within a node, nullptr if there is none.
  FleetSuspect* part_of(int node) {
    FleetSuspect* strongest = nullptr;
    for (FleetSuspect& one : judgement_.suspects) {
      if (one.level <= FleetLevel::node) continue;
      if (nodes_of(one, samples_, groups_) != std::vector<int>{node}) continue;
      if (strongest == nullptr || one.chance < strongest->chance) strongest = &one;
    }
    return strongest;
  }

  // Where a node is a suspect only by figures of the node as a whole, such as collectives of its
  // GPUs, and a part of it is one too, these figures follow from the part.
  void follow_parts() {
    auto& suspects = judgement_.suspects;
    std::set<const FleetSuspect*> explained;
    for (FleetSuspect& one : suspects) {
      if (one.level != FleetLevel::node) continue;
      const bool whole =
          std::all_of(one.evidence.begin(), one.evidence.end(),
                      [&](const FleetEvidence& each) { return is_of_whole_nodes(each.kind); });
      FleetSuspect* part = whole ? part_of(one.item) : nullptr;
      if (part == nullptr) continue;
      for (FleetEvidence& each : one.evidence) {
        each.follows = true;
        part->evidence.push_back(std::move(each));
      }
      explained.insert(&one);
    }
    std::vector<FleetSuspect> left;
    for (FleetSuspect& one : suspects) {
      if (explained.count(&one) == 0) left.push_back(std::move(one));
    }
    suspects = std::move(left);
  }

  static Sureness sureness_of(const FleetSuspect& suspect) {
    constexpr double kSmallChance = 1e-3;
    int slow = 0;
    bool mostly = false;
    for (const FleetEvidence& one : suspect.evidence) {
      if (one.follows) continue;
      slow += one.slow;
      mostly = mostly || 2 * one.slow >= one.figures;
    }
    const bool repeated = slow >= 2 && mostly;
    if (repeated && suspect.chance < kSmallChance) return Sureness::sure;
    return repeated || suspect.chance < kSmallChance ? Sureness::likely : Sureness::possible;
  }

  void finish() {
    const auto stronger = [](const FleetEvidence& a, const FleetEvidence& b) {
      return std::tuple(a.follows, -a.slow, -a.loss) < std::tuple(b.follows, -b.slow, -b.loss);
    };
    for (FleetSuspect& one : judgement_.suspects) {
      std::stable_sort(one.evidence.begin(), one.evidence.end(), stronger);
      one.sureness = sureness_of(one);
    }
    const auto worse = [](const FleetSuspect& a, const FleetSuspect& b) {
      return std::tuple(b.sureness, a.level, -a.evidence.front().most_loss) <
             std::tuple(a.sureness, b.level, -b.evidence.front().most_loss);
    };
    std::stable_sort(judgement_.suspects.begin(), judgement_.suspects.end(), worse);
  }

  const FleetSamples& samples_;
  const std::vector<FleetGroup>& groups_;
  const FleetLevels levels_;
  std::vector<std::vector<std::size_t>> by_figure_;
  std::map<std::string, std::vector<int>> by_kind_;
  std::vector<double> usual_, residuals_;
  std::vector<std::size_t> peers_at_a_position_;  // the fewest, by figure
  std::map<std::pair<FleetLevel, int>, FleetSuspect> found_;
  FleetJudgement judgement_;
};

}  // namespace

const char* name(Sureness sureness) { return name_of(kSurenesses, sureness); }

FleetJudgement judge_fleet(const FleetSamples& samples, const std::vector<FleetGroup>& groups) {
  return FleetJudge(samples, groups).run();
}

std::vector<int> nodes_of(const FleetSuspect& suspect, const FleetSamples& samples,
                          const std::vector<FleetGroup>& groups) {
  const std::size_t item = at(suspect.item);
  switch (suspect.level) {
    case FleetLevel::group:
      return groups[item].nodes;
    case FleetLevel::node:
      return {suspect.item};
    case FleetLevel::unit:
    case FleetLevel::unit_out:
    case FleetLevel::unit_in:
      return {samples.units()[item].node};
    case FleetLevel::link:
    case FleetLevel::direction:
      break;
  }
  const std::vector<int>& units =
      suspect.level == FleetLevel::link ? samples.links()[item] : samples.places()[item].units;
  std::set<int> nodes;
  for (const int unit : units) nodes.insert(samples.units()[at(unit)].node);
  return {nodes.begin(), nodes.end()};
}

}  // namespace duet
