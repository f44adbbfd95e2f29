#include "collectives/command/show_schedule.h"

#include <fmt/format.h>

#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/complain.h"
#include "cli/flag_values.h"
#include "cli/lists.h"
#include "collectives/schedule/message_steps.h"
#include "collectives/schedule/packet_steps.h"
#include "collectives/schedule/picture.h"
#include "collectives/schedule/printed_form.h"
#include "collectives/steps_trace.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/units.h"
#include "report/trace_file.h"

namespace duet {
namespace {

constexpr std::size_t kWidestPicture = 120;

class Shown {
 public:
  Shown(const ShownMachine& on, const ShowScheduleFlags& flags, std::ostream& out, bool json,
        bool in_table)
      : device_(on.name), flags_(flags), out_(out), json_(json), in_table_(in_table) {
    if (flags.rank.empty()) return;
    rank_ = parse_number(flags.rank, 0, "--rank", on.machine->size() - 1);
  }

  // Of each case whose steps were timed.
  const std::vector<Record>& timed() const { return timed_; }
  // The first fault of a schedule that was taken; "": none.
  const std::string& fault() const { return fault_; }

  void take(const PlannedCase& planned) {
    if (!fault_.empty()) return;
    for (const std::string& warning : planned.warnings) complain(title(planned) + ": " + warning);
    if (planned.skipped || planned.schedule.ranks.empty()) {
      const std::string why =
          planned.skipped ? planned.skipped->reason : "its plans are no schedules";
      left_out_.emplace(fmt::format("{}{}", name(planned.schedule.collective.kind), rest(planned)),
                        why);
      return;
    }
    any_ = true;
    if (!planned.steps.empty()) {
      timed_.push_back(steps_record(device_, planned.engine, planned.axes, planned.steps));
    }
    CollectiveSchedule schedule = planned.schedule;
    const std::string fault = fault_of(schedule);
    if (in_table_ && !json_ && fault.empty()) return add_row(planned);
    for (RankSchedule& rank : schedule.ranks) {
      if (flags_.without_speed) rank = without({}, std::move(rank));
      rank = with_messages_as_steps(rank);
    }
    print(schedule, title(planned) + ": " + planned.algorithm);
    if (!fault.empty()) {
      fault_ = fmt::format("{}: {}", title(planned), fault);
      return;
    }
    if (!sends_packets(schedule.ranks.front())) return;
    for (const int half : {0, 1}) {
      if (half > 0 && !json_) break;  // it differs in the slots' places alone
      CollectiveSchedule packets = schedule;
      for (RankSchedule& rank : packets.ranks) rank = with_packets_as_items(rank, half);
      print(packets,
            fmt::format("{}: packets on GPUs, calls {}, {}, ...", title(planned), half, half + 2),
            true);
    }
  }

  void end() {
    write_tables();
    if (!any_) {
      throw UsageError(
          fmt::format("--show-schedule: nothing to show on {}{}: expected dma, kernel or auto",
                      device_, left_out_.empty() ? "" : " (" + left_out_.begin()->second + ")"));
    }
    for (const auto& [what, why] : left_out_) complain(fmt::format("{}: {}", what, why));
  }

 private:
  std::string title(const PlannedCase& planned) const {
    return fmt::format("{} of {}{}", name(planned.schedule.collective.kind),
                       format_bytes(planned.bytes), rest(planned));
  }

  // Of a title, behind the size: " by dma on host:4, fp32 sum, in place".
  std::string rest(const PlannedCase& planned) const {
    const Collective& c = planned.schedule.collective;
    std::string what(name(c.dtype));
    if (reduces(c.kind)) what += fmt::format(" {}", name(c.op));
    if (c.kind == CollectiveKind::all_to_all_v) what += fmt::format(" {}", name(planned.skew));
    return fmt::format(" by {} on {}, {}, {}", planned.engine, device_, what,
                       planned.in_place ? "in place" : "out of place");
  }

  void print(const CollectiveSchedule& schedule, const std::string& title, bool shared = false) {
    if (json_) {
      out_ << printed_form(schedule, title, shared).dump() << "\n";
      return;
    }
    std::vector<int> ranks(schedule.ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    if (rank_) ranks = {*rank_};
    begin_block();
    out_ << title << "\n\n" << picture_of(schedule, ranks, kWidestPicture);
  }

  // An empty line between two.
  void begin_block() {
    if (has_block_) out_ << "\n";
    has_block_ = true;
  }

  // Sizes with one algorithm are one row.
  void add_row(const PlannedCase& planned) {
    const std::string head =
        fmt::format("{}{}", name(planned.schedule.collective.kind), rest(planned));
    Row row{planned.bytes, planned.bytes, planned.algorithm,
            planned.schedule.ranks.front().steps.size()};
    std::vector<Row>* rows = nullptr;
    for (auto& table : tables_) {
      if (table.first == head) rows = &table.second;
    }
    if (rows == nullptr) rows = &tables_.emplace_back(head, std::vector<Row>{}).second;
    const bool again = !rows->empty() && rows->back().algorithm == row.algorithm &&
                       rows->back().steps == row.steps;
    if (again) {
      rows->back().last = row.last;
      return;
    }
    rows->push_back(std::move(row));
  }

  void write_tables() {
    for (const auto& [head, rows] : tables_) {
      begin_block();
      out_ << head << "\n\n"
           << fmt::format("  {:>14} {:>14}  {:>6}  {}\n", "from", "to", "steps", "algorithm");
      for (const Row& row : rows) {
        out_ << fmt::format("  {:>14} {:>14}  {:>6}  {}\n", format_bytes(row.first),
                            format_bytes(row.last), row.steps, row.algorithm);
      }
    }
  }

  struct Row {
    std::uint64_t first = 0, last = 0;
    std::string algorithm;
    std::size_t steps = 0;  // of rank 0
  };

  const std::string device_;
  const ShowScheduleFlags& flags_;
  std::ostream& out_;
  const bool json_, in_table_;
  std::optional<int> rank_;
  bool any_ = false, has_block_ = false;
  std::vector<Record> timed_;
  std::string fault_;                            // the first schedule's that is wrong
  std::map<std::string, std::string> left_out_;  // why, by title without the size
  std::vector<std::pair<std::string, std::vector<Row>>> tables_;  // by head
};

}  // namespace

void add_show_schedule_flags(CLI::App& app, ShowScheduleFlags& flags) {
  app.add_flag("--show-schedule", flags.show,
               "Show what the ranks enqueue, checked, and measure nothing: who copies what and who "
               "waits for whom; with several sizes a table of the algorithms. With --json as JSON "
               "for programs (docs/schedules.md)")
      ->group("Schedules");
  app.add_flag("--mark-speed", flags.without_speed,
               "--show-schedule: leave out what is only for speed")
      ->group("Schedules");
  app.add_option("--rank", flags.rank, "--show-schedule: only this rank's part")
      ->type_name("RANK")
      ->group("Schedules");
  app.add_option(
         "--trace", flags.trace,
         "--show-schedule: also make a call, and write when its steps ran on each stream of "
         "each rank, for Perfetto and chrome://tracing")
      ->type_name("FILE.json")
      ->check(not_empty())
      ->group("Schedules");
}

void require_show_schedule(const ShowScheduleFlags& flags, const OutputFlags& output,
                           const std::vector<std::pair<const char*, bool>>& measuring) {
  if (!flags.show) {
    return refuse_given({{"--mark-speed", flags.without_speed},
                         {"--rank", !flags.rank.empty()},
                         {"--trace", !flags.trace.empty()}},
                        "expected --show-schedule as well");
  }
  std::vector<std::pair<const char*, bool>> refused = {{"--csv", !output.csv.empty()},
                                                       {"--report", output.report.has_value()},
                                                       {"--check", output.check},
                                                       {"--resume", output.resume},
                                                       {"--list", output.list},
                                                       {"--nvtx", output.nvtx},
                                                       {"--quiet", output.quiet},
                                                       {"--verbose", output.verbose},
                                                       {"--reproducible", output.reproducible}};
  refused.insert(refused.end(), measuring.begin(), measuring.end());
  refuse_given(refused, "expected without --show-schedule, which measures nothing");
  if (!flags.rank.empty() && !output.json.empty()) {
    throw UsageError("--rank: expected without --json, which has all ranks");
  }
}

void show_schedules(const std::vector<ShownMachine>& machines, const CollectiveOptions& options,
                    const ShowScheduleFlags& flags, const OutputFlags& output) {
  const bool json = !output.json.empty();
  std::optional<OutputFile> file;
  if (json) file.emplace(OutputFile::create(output.json, "name another file"));
  if (!json && options.sizes.size() != 1) {
    refuse_given({{"--rank", !flags.rank.empty()}, {"--mark-speed", flags.without_speed}},
                 "expected one size, -b: several are a table");
  }
  if (!flags.trace.empty()) OutputFile::check_replaceable(flags.trace, kTraceHead);
  std::ostringstream text;
  std::string fault;
  JournalRun timed;
  for (const ShownMachine& each : machines) {
    Shown shown(each, flags, text, json, options.sizes.size() != 1);
    plan_collectives(
        *each.machine, options, [&](const PlannedCase& planned) { shown.take(planned); },
        !flags.trace.empty());
    shown.end();
    timed.results.insert(timed.results.end(), shown.timed().begin(), shown.timed().end());
    if (fault.empty()) fault = shown.fault();
  }
  if (file) {
    file->write(text.str());
  } else {
    std::cout << text.str();
  }
  if (!flags.trace.empty()) {
    JournalContents contents;
    contents.runs = {std::move(timed)};
    OutputFile::replace_whole(flags.trace, kTraceHead, trace_file({contents}, {}).text);
  }
  if (!fault.empty()) throw Error(fault);
}

}  // namespace duet
