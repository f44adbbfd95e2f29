#include "gemm/command/grouped_flags.h"

#include <fmt/format.h>

#include <functional>

#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/lists.h"
#include "core/error.h"
#include "gemm/shapes.h"

namespace duet {
namespace {

constexpr const char* kModel = "deepseek-v3";
constexpr const char* kRows = "32,128,512";
constexpr const char* kGroupedShapeOfCpus = "64x512x512";  // a model's experts take minutes there
constexpr const char* kGroups = "8";                       // of shapes
constexpr const char* kRanks = "8";
constexpr int kMostGroups = 4096;
constexpr std::int64_t kMostRows = 1 << 24;  // of all groups

std::vector<int> numbers_of(const std::string& list, const char* flag, int most) {
  return parse_list(list,
                    [&](const std::string& word) { return parse_number(word, 1, flag, most); });
}

// The experts of one of `ranks` ranks.
int share_of(const ExpertModel& model, int ranks) {
  if (model.experts % ranks == 0) return model.experts / ranks;
  throw UsageError(fmt::format("--ranks {}: expected a divisor of the {} experts of {}", ranks,
                               model.experts, model.name));
}

std::vector<int> group_counts(const GroupedFlags& flags, const ExpertModel& model) {
  if (!flags.groups.empty()) return numbers_of(flags.groups, "--groups", kMostGroups);
  std::vector<int> counts;
  for (const int ranks :
       numbers_of(flags.ranks.empty() ? kRanks : flags.ranks, "--ranks", kMostGroups)) {
    counts.push_back(share_of(model, ranks));
  }
  return counts;
}

std::vector<GroupedShape> of_grouped_models(const GroupedFlags& flags) {
  const std::vector<int> means =
      numbers_of(flags.rows.empty() ? kRows : flags.rows, "--rows-per-group", kMostCount);
  std::vector<GroupedShape> all;
  for (const std::string& name : split(flags.models.empty() ? kModel : flags.models, ',')) {
    const ExpertModel& model = expert_model(name);
    for (const int groups : group_counts(flags, model)) {
      for (const int mean : means) {
        const auto both = shapes_of_experts(model, groups, mean);
        all.insert(all.end(), both.begin(), both.end());
      }
    }
  }
  return all;
}

std::vector<GroupedShape> of_single_shapes(const GroupedFlags& flags, const std::string& shapes) {
  const std::vector<int> counts =
      numbers_of(flags.groups.empty() ? kGroups : flags.groups, "--groups", kMostGroups);
  std::vector<GroupedShape> all;
  for (const GemmShape& shape : parse_shapes(shapes)) {
    for (const int groups : counts) all.push_back({"", "", groups, shape.m, shape.n, shape.k});
  }
  return all;
}

}  // namespace

void add_grouped_flags(CLI::App& app, GroupedFlags& flags) {
  const char* group = "Grouped GEMMs";
  app.add_flag("--grouped", flags.grouped,
               "Instead of single products, products of groups of rows, each with a matrix of its "
               "own, as the experts of a mixture-of-experts layer have them")
      ->group(group);
  const auto add = [&](const char* name, std::string& value, const char* text) {
    app.add_option(name, value, text)->type_name("LIST")->check(not_empty())->group(group);
  };
  add("--model", flags.models,
      "Models, of whose experts both products (gate_up, down) are measured: deepseek-v3, "
      "qwen3-30b, qwen3-235b, mixtral, gpt-oss; default deepseek-v3, on CPUs the shape 64x512x512");
  add("--ranks", flags.ranks,
      "Over how many ranks a model's experts are divided: a device measures the share of one; "
      "default 8");
  add("--groups", flags.groups,
      "How many groups; default: of a model the experts of a rank, of shapes 8");
  add("--rows-per-group", flags.rows,
      "Rows of a group, the mean of all; default 32,128,512. With --shapes it is their M");
  add("--routing", flags.routing,
      "How rows are divided among groups: equal; uniform (each row draws its group); zipf:S "
      "(likewise, group g with a probability in proportion to g^-S); default equal");
  offer(app, "--model", [] { return own_names(expert_models()); });
  offer(app, "--routing", {"equal", "uniform", "zipf:1.2"});
}

void require_no_groups(const GroupedFlags& flags) {
  refuse_given({{"--model", !flags.models.empty()},
                {"--ranks", !flags.ranks.empty()},
                {"--groups", !flags.groups.empty()},
                {"--rows-per-group", !flags.rows.empty()},
                {"--routing", !flags.routing.empty()}},
               "expected with --grouped");
}

std::vector<GroupedShape> grouped_shapes(const GroupedFlags& flags, const std::string& shapes,
                                         bool is_cpu) {
  if (!shapes.empty()) {
    refuse_given({{"--model", !flags.models.empty()},
                  {"--ranks", !flags.ranks.empty()},
                  {"--rows-per-group", !flags.rows.empty()}},
                 "expected without --shapes, which have their own");
  }
  if (!flags.groups.empty()) {
    refuse_given({{"--ranks", !flags.ranks.empty()}}, "expected without --groups");
  }
  const bool small =
      is_cpu && flags.models.empty() && flags.ranks.empty() && flags.rows.empty() && shapes.empty();
  const std::string chosen = small ? kGroupedShapeOfCpus : shapes;
  const std::vector<GroupedShape> all =
      chosen.empty() ? of_grouped_models(flags) : of_single_shapes(flags, chosen);
  for (const GroupedShape& shape : all) {
    if (shape.groups * shape.rows_per_group <= kMostRows) continue;
    throw UsageError(fmt::format("--grouped: {} groups of {} rows: expected at most {} rows in all",
                                 shape.groups, shape.rows_per_group, kMostRows));
  }
  return all;
}

std::vector<Routing> routings_of(const GroupedFlags& flags) {
  if (flags.routing.empty()) return {Routing{}};
  return parse_list(flags.routing, [](const std::string& word) { return parse_routing(word); });
}

}  // namespace duet
