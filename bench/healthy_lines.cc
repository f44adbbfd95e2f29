// What collectives reach on healthy machines, as the table [healthy] of a device spec:
//   bench_healthy_lines SPEC JOURNAL...
// Journals of machines with the spec's devices, from `bench/on_gpu.sh healthy` and docs/results.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/cost.h"
#include "results/journal.h"
#include "timing/work.h"
#include "verdict/verdict.h"

namespace duet {
namespace {

// A line is at most so far below the fastest machine: at half its rate each is then LOW.
constexpr double kMostSpread = 1.65;
constexpr double kMostMeasuredSpread = 1.8;  // where runs differ by more, there is no line
// A line passes below the slowest machine by no more, and above it by no more.
constexpr double kBelow = 0.95, kAbove = 1.01;
// Hosts and their drivers differ by microseconds a call: shorter ones are expected to take up to so
// much longer on machines that were not measured. Of five runs on two machines, each beside a line
// of the other four, one figure in a thousand is then LOW (without it one in 170).
constexpr double kLongSeconds = 1e-4, kOtherMachines = 1.1;
constexpr double kAlike = 1.2;  // in place and out of place are one line up to this ratio

struct Rates {
  double slowest = 0, fastest = 0;
  std::set<std::string> journals;
};
using Curve = std::map<double, Rates>;  // by bus bytes

struct Group {
  std::string collective, engine;
  int ranks = 0;
  bool in_a_row = false;

  auto key() const { return std::tie(collective, engine, ranks, in_a_row); }
  bool operator<(const Group& other) const { return key() < other.key(); }
};
struct Curves {
  Curve by_place[2];  // out of place, in place
};

void add(Curve& curve, double bytes, const Rates& more) {
  Rates& rates = curve.try_emplace(bytes, more).first->second;
  rates.slowest = std::min(rates.slowest, more.slowest);
  rates.fastest = std::max(rates.fastest, more.fastest);
  rates.journals.insert(more.journals.begin(), more.journals.end());
}

// Only what a verdict could be given for: the bound is known.
void read(const std::string& journal, const std::string& spec, std::map<Group, Curves>& groups) {
  const JournalContents contents = load_journal(journal);
  Evaluator evaluator;
  for (const JournalRun& run : contents.runs) {
    evaluator.see(run.environment);
    for (const Record& record : run.results) evaluator.see(record);
  }
  const auto ceilings = evaluator.ceilings();
  for (const Record* record : results_that_count(contents.runs)) {
    const CaseId& id = record->id;
    if (id.benchmark != "collective" || record->outcome != Outcome::measured) continue;
    const auto device = ceilings.find(id.device);
    if (device == ceilings.end() || device->second.spec == nullptr) continue;
    if (device->second.spec->file != spec) continue;
    if (record->cost.more.contains(kNetworkBytes) || axis_number(id, "graph_launches") > 0)
      continue;
    const Verdict verdict = evaluator.evaluate(*record);
    if (!verdict.bound) continue;
    const Group group{axis_word(id, "collective"), id.engine,
                      static_cast<int>(axis_number(id, "ranks")), record->mode == "loop"};
    add(groups[group].by_place[axis_true(id, "in_place")], record->cost.more.value(kBusBytes),
        {verdict.value, verdict.value, {journal}});
  }
}

Curve together(const Curves& curves) {
  Curve all = curves.by_place[0];
  for (const auto& [bytes, rates] : curves.by_place[1]) {
    add(all, bytes, rates);
  }
  return all;
}

// Whether both places are one line: each size that both have is about as fast.
bool alike(const Curves& curves) {
  const auto& [out, in] = curves.by_place;
  return std::all_of(out.begin(), out.end(), [&in = in](const auto& one) {
    const auto other = in.find(one.first);
    if (other == in.end()) return true;
    const double ratio = one.second.slowest / other->second.slowest;
    return ratio < kAlike && ratio > 1 / kAlike;
  });
}

// From the smallest size on from which no two runs differ too much, and calls that latency decides
// were measured more than once.
Curve comparable(const Curve& curve) {
  const auto fits = [](const auto& one) {
    const auto& [bytes, rates] = one;
    const bool is_long = bytes / rates.slowest / 1e9 >= kLongSeconds;
    return rates.fastest <= kMostMeasuredSpread * rates.slowest &&
           (is_long || rates.journals.size() > 1);
  };
  auto first = curve.end();
  while (first != curve.begin() && fits(*std::prev(first))) --first;
  return {first, curve.end()};
}

// With the rates that other healthy machines may have as the slowest: a call takes at least as long
// as a smaller one, so what slowed that one down may slow down this one too.
Curve with_margins(Curve curve) {
  double longest = 0;
  for (auto& [bytes, rates] : curve) {
    longest = std::max(longest, bytes / rates.slowest / 1e9);
    const double seconds = longest < kLongSeconds ? kOtherMachines * longest : longest;
    rates.slowest = std::max(bytes / seconds / 1e9, rates.fastest / kMostSpread);
  }
  return curve;
}

using Point = std::pair<double, double>;  // bus bytes, GB/s

double between(const Point& left, const Point& right, double bytes) {
  CollectiveLine line;
  line.bus_bytes = {left.first, right.first};
  line.gb_per_s = {left.second, right.second};
  return line.at(bytes).value_or(0);
}

// As few of the points as lie near all others.
std::vector<Point> thinned(const std::vector<Point>& points) {
  std::vector<Point> kept{points.front()};
  for (std::size_t left = 0; left + 1 < points.size();) {
    std::size_t right = left + 1;
    for (std::size_t further = left + 2; further < points.size(); ++further) {
      const bool near =
          std::all_of(points.begin() + static_cast<std::ptrdiff_t>(left) + 1,
                      points.begin() + static_cast<std::ptrdiff_t>(further), [&](const Point& one) {
                        const double line = between(points[left], points[further], one.first);
                        return line >= kBelow * one.second && line <= kAbove * one.second;
                      });
      if (near) right = further;
    }
    kept.push_back(points[right]);
    left = right;
  }
  return kept;
}

std::string list(const std::vector<std::string>& texts) {
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

void print(const Group& group, std::optional<bool> in_place, const Curve& all) {
  const Curve curve = with_margins(comparable(all));
  if (curve.empty()) return;
  double spread = 1;
  std::vector<Point> points;
  for (const auto& [bytes, rates] : curve) {
    spread = std::max(spread, rates.fastest / rates.slowest);
    points.emplace_back(bytes, rates.slowest);
  }
  std::vector<std::string> sizes, rates;
  for (const auto& [bytes, gb_per_s] : thinned(points)) {
    sizes.push_back(fmt::format("{:.0f}", bytes));
    rates.push_back(fmt::format("{:.4g}", gb_per_s));
  }
  fmt::print("  {{collective = \"{}\", engine = \"{}\", most_ranks = {}, ", group.collective,
             group.engine, group.ranks);
  if (in_place) fmt::print("in_place = {}, ", *in_place);
  if (group.in_a_row) fmt::print("in_a_row = true, ");
  fmt::print("spread = {:.2f}, bus_bytes = {}, gb_per_s = {}}},\n", std::ceil(100 * spread) / 100,
             list(sizes), list(rates));
}

int run(const std::string& spec, const std::vector<std::string>& journals) {
  std::map<Group, Curves> groups;
  for (const std::string& journal : journals) read(journal, spec, groups);
  fmt::print("[healthy]\ncollective = [\n");
  for (const auto& [group, curves] : groups) {
    if (alike(curves)) {
      print(group, std::nullopt, together(curves));
    } else {
      for (const bool in_place : {false, true}) print(group, in_place, curves.by_place[in_place]);
    }
  }
  fmt::print("]\n");
  return groups.empty() ? 1 : 0;
}

}  // namespace
}  // namespace duet

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: {} SPEC JOURNAL...\n", argv[0]);
    return 2;
  }
  try {
    return duet::run(argv[1], {argv + 2, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
