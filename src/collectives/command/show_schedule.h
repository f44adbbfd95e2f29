#pragma once

#include <CLI/App.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/flags.h"
#include "collectives/cases.h"

namespace duet {

struct ShowScheduleFlags {
  bool show = false;
  bool without_speed = false;
  std::string rank;   // "": all
  std::string trace;  // a file: of when the steps of a call ran; "": none
};
void add_show_schedule_flags(CLI::App& app, ShowScheduleFlags& flags);
// Throws UsageError for flags that do not go together. `measuring`: further ones that have no
// effect where nothing is measured, and whether they are given.
void require_show_schedule(const ShowScheduleFlags& flags, const OutputFlags& output,
                           const std::vector<std::pair<const char*, bool>>& measuring);

struct ShownMachine {
  Machine* machine = nullptr;
  std::string name;  // --device
};

// Instead of measuring: of one size the schedules of all cases, of several a table of what is
// chosen when. With `output.json` for programs, of each size. Throws Error behind a schedule that
// is wrong.
void show_schedules(const std::vector<ShownMachine>& machines, const CollectiveOptions& options,
                    const ShowScheduleFlags& flags, const OutputFlags& output);

}  // namespace duet
