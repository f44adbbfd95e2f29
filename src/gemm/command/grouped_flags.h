#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "gemm/grouped_cases.h"

namespace duet {

// The flags of `duet gemm` that belong to --grouped.
struct GroupedFlags {
  bool grouped = false;
  std::string models, ranks, groups, rows, routing;
};

void add_grouped_flags(CLI::App& app, GroupedFlags& flags);

// Throws UsageError if flags that need --grouped are given without it.
void require_no_groups(const GroupedFlags& flags);

// Those of --shapes, whose M is a group's rows, else of the models. Throws UsageError.
std::vector<GroupedShape> grouped_shapes(const GroupedFlags& flags, const std::string& shapes,
                                         bool is_cpu);
std::vector<Routing> routings_of(const GroupedFlags& flags);

}  // namespace duet
