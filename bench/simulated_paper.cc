// bench_simulated_paper [PLATFORM] [--sensitivity]
//
// Prints the ConCCL paper's figures beside simulated ones of its 30 scenarios on an MI300X node.
// The exit code is 1 if a figure is not near the paper's. --sensitivity also prints by how much the
// simulated figures change when a fitted figure of the platform changes by 20%, for each of those.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "device/machine.h"
#include "device/sim/platform.h"
#include "device/sim/platform_text.h"
#include "overlap/runner.h"

namespace {

using namespace duet;

struct Range {
  double low = 0, high = 0;
};

// A figure of the paper, in per cent of ideal.
struct Paper {
  const char* policy;
  const char* as;  // the policy's name in the paper
  double mean;
  Range all_gather, all_to_all;  // of the classes' means; 0 if the paper has none
};
const std::vector<Paper> kPaper{
    {"base", "c3_base", 21, {24, 46}, {0, 13}},
    {"priority", "c3_sp", 42, {38, 67}, {27, 46}},
    {"partition", "c3_rp", 41, {}, {}},
    {"best", "c3_best", 48, {}, {}},
    {"dma", "ConCCL", 66, {}, {}},
    {"dma+partition", "ConCCL_rp", 72, {}, {}},
};
constexpr Range kIdealMean{1.45, 1.65};
constexpr double kNear = 5;  // percentage points

// The classes of the paper's Table II, by scenario. Names that begin with "mb" have memory-bound
// GEMMs.
const std::map<std::string, Balance> kClasses{
    {"mb1_896M", Balance::g_long},  {"mb2_3.25G", Balance::g_long},
    {"mb1_4G", Balance::g_long},    {"mb1_6G", Balance::g_long},
    {"cb3_512M", Balance::g_long},  {"cb4_512M", Balance::g_long},
    {"cb5_1.63G", Balance::g_long}, {"cb4_1G", Balance::g_long},
    {"mb1_13G", Balance::c_long},   {"cb2_3.25G", Balance::c_long},
    {"cb4_2.5G", Balance::c_long},  {"cb1_896M", Balance::c_long},
    {"cb5_20G", Balance::c_long},   {"mb2_26.5G", Balance::gc_equal},
    {"cb5_13G", Balance::gc_equal},
};

struct Outcome {
  std::string tag;  // "mb1_896M"
  bool all_gather = false;
  Balance balance = Balance::gc_equal;
  double ideal = 0;
  std::map<std::string, double> percent;  // of ideal, by policy
};

// Adds two figures as the paper defines them: the best policy without DMA engines, and DMA engines
// with a partition only for memory-bound GEMMs.
void derive(Outcome& one) {
  double best = -1e9;
  for (const char* policy : {"base", "priority", "partition", "priority+partition"}) {
    best = std::max(best, one.percent.at(policy));
  }
  one.percent["best"] = best;
  if (one.tag.compare(0, 2, "mb") != 0) one.percent["dma+partition"] = one.percent.at("dma");
}

std::vector<Outcome> simulate(const std::string& platform) {
  const auto machine = open_machine("sim:" + platform);
  OverlapRuns runs;
  runs.mode.iterations = 1;
  runs.sweep = partition_sweep(machine->device(0).info());
  OverlapRunner runner(*machine, runs);
  std::vector<Outcome> all;
  for (const OverlapScenario& scenario : scenario_set("paper")) {
    Outcome one;
    const std::size_t space = scenario.name.find(' ');
    one.tag = scenario.name.substr(0, space);
    one.all_gather = scenario.name.substr(space + 1) == "all_gather";
    for (const OverlapPolicy& policy :
         parse_policies("base,priority,partition,priority+partition,dma,dma+partition")) {
      const OverlapResult result = runner.run(scenario, policy);
      one.balance = result.balance;
      one.ideal = result.metrics.ideal_speedup;
      one.percent[name(policy)] = 100 * result.metrics.fraction_of_ideal.value_or(0);
    }
    derive(one);
    all.push_back(std::move(one));
  }
  return all;
}

double mean(const std::vector<Outcome>& all, const std::function<double(const Outcome&)>& of,
            const std::function<bool(const Outcome&)>& which = {}) {
  double sum = 0;
  int count = 0;
  for (const Outcome& one : all) {
    if (which && !which(one)) continue;
    sum += of(one);
    ++count;
  }
  return sum / count;
}

double mean_percent(const std::vector<Outcome>& all, const std::string& policy) {
  return mean(all, [&](const Outcome& one) { return one.percent.at(policy); });
}

// The smallest and the largest of the means of Table II's three classes.
Range over_classes(const std::vector<Outcome>& all, const std::string& policy, bool all_gather) {
  Range range{1e9, -1e9};
  for (const Balance balance : {Balance::g_long, Balance::c_long, Balance::gc_equal}) {
    const double each = mean(
        all, [&](const Outcome& one) { return one.percent.at(policy); },
        [&](const Outcome& one) {
          return one.all_gather == all_gather && kClasses.at(one.tag) == balance;
        });
    range = {std::min(range.low, each), std::max(range.high, each)};
  }
  return range;
}

int classes_right(const std::vector<Outcome>& all) {
  return static_cast<int>(std::count_if(all.begin(), all.end(), [](const Outcome& one) {
    return kClasses.at(one.tag) == one.balance;
  }));
}

bool overlap(const Range& a, const Range& b) { return a.low <= b.high && b.low <= a.high; }

std::string text(const Range& range) {
  return fmt::format("{:.0f} to {:.0f}", range.low, range.high);
}

// Prints the figures and returns whether all are near enough to the paper's.
bool print_accuracy(const std::vector<Outcome>& all) {
  bool near = true;
  fmt::print(
      "| policy | paper | mean % of ideal, paper | simulated | all_gather, paper | simulated "
      "| all_to_all, paper | simulated |\n|---|---|---|---|---|---|---|---|\n");
  for (const Paper& paper : kPaper) {
    const double simulated = mean_percent(all, paper.policy);
    near &= std::abs(simulated - paper.mean) <= kNear;
    fmt::print("| {} | {} | {:.0f} | {:.0f} |", paper.policy, paper.as, paper.mean, simulated);
    for (const bool gather : {true, false}) {
      const Range& given = gather ? paper.all_gather : paper.all_to_all;
      const Range found = over_classes(all, paper.policy, gather);
      const bool has = given.high > 0;
      near &= !has || overlap(given, found);
      fmt::print(" {} | {} |", has ? text(given) : "", text(found));
    }
    fmt::print("\n");
  }
  const double ideal = mean(all, [](const Outcome& one) { return one.ideal; });
  const auto [least, most] = std::minmax_element(
      all.begin(), all.end(), [](const Outcome& a, const Outcome& b) { return a.ideal < b.ideal; });
  near &= ideal >= kIdealMean.low && ideal <= kIdealMean.high && classes_right(all) == 30;
  fmt::print(
      "\nideal speedup {:.2f} on average ({} to {} wanted), {:.2f} to {:.2f}; classes of "
      "Table II right in {} of {}\n",
      ideal, kIdealMean.low, kIdealMean.high, least->ideal, most->ideal, classes_right(all),
      all.size());
  return near;
}

std::vector<Outcome> simulate_with(sim::PlatformText platform, const std::string& key,
                                   double value) {
  platform.set(key, value, "varied");
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("duet-simulated-paper-{}.toml", getpid());
  std::ofstream(path) << platform.text();
  const auto remove = [](const std::filesystem::path* p) { std::filesystem::remove(*p); };
  const std::unique_ptr<const std::filesystem::path, decltype(remove)> keep(&path, remove);
  return simulate(path.string());
}

void print_sensitivity(const std::string& platform, const std::vector<Outcome>& all) {
  fmt::print(
      "\nPoints of ideal by which the means move when a fitted figure moves by -20% / +20%, "
      "and scenarios that leave their class:\n\n| figure | value |");
  for (const Paper& paper : kPaper) fmt::print(" {} |", paper.policy);
  fmt::print(" classes |\n|---|---|---|---|---|---|---|---|---|\n");
  const sim::PlatformText text(sim::platform_toml(platform));
  for (const sim::PlatformText::Figure& figure : text.figures()) {
    if (figure.comment.compare(0, 6, "fitted") != 0) continue;
    const bool share = figure.key.find("efficiency") != std::string::npos;
    const double most = share ? 1 : std::numeric_limits<double>::infinity();
    const auto less = simulate_with(text, figure.key, 0.8 * figure.value);
    const auto more = simulate_with(text, figure.key, std::min(most, 1.2 * figure.value));
    fmt::print("| {} | {} |", figure.key, figure.value);
    for (const Paper& paper : kPaper) {
      const double now = mean_percent(all, paper.policy);
      fmt::print(" {:+.1f} / {:+.1f} |", mean_percent(less, paper.policy) - now,
                 mean_percent(more, paper.policy) - now);
    }
    fmt::print(" {} / {} |\n", all.size() - static_cast<std::size_t>(classes_right(less)),
               all.size() - static_cast<std::size_t>(classes_right(more)));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::string platform = "mi300x-8";
  bool sensitivity = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--sensitivity") {
      sensitivity = true;
    } else {
      platform = argv[i];
    }
  }
  const std::vector<Outcome> all = simulate(platform);
  const bool near = print_accuracy(all);
  if (sensitivity) print_sensitivity(platform, all);
  return near ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_simulated_paper: {}\n", error.what());
  return 2;
}
