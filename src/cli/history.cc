// `duet history`: figures over time, from a store of many runs.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/flag_values.h"
#include "cli/lists.h"
#include "core/error.h"
#include "core/output_file.h"
#include "fleet/report.h"
#include "history/table.h"

namespace duet {
namespace {

class HistoryCommand : public Command {
 public:
  explicit HistoryCommand(CLI::App& root)
      : Command(root.add_subcommand(
            "history", "Add journals to a store of runs, and show figures over time by device")) {
    app_->add_option("journals", journals_, "Journals to add; without any, the store is shown")
        ->type_name("JOURNAL...");
    add("--store", store_, "FILE", "The store, an SQLite file, which is created if it is missing");
    add("--match", match_, "WORDS",
        "Show the cases whose line contains all of these words: 'gemm 8192 bf16'");
    add("--device", device_, "TEXT",
        "Show the devices of which the name, the model or the host has this text");
    add("--rate", rate_, "NAME",
        "The rate to show, such as gb_per_s; default: the first of each case");
    app_->add_flag("--over-time", over_time_, "Show each figure in each run, by time");
    add("--csv", csv_, "FILE", "Write all runs' figures as a table; -: to standard output");
    add("--time", time_, "UTC",
        "Time of measurement for journals without one, such as those of duet import: "
        "2026-11-21T02:00:00Z");
    offer(*app_, "--device", device_words);
  }

  int run(const std::vector<std::string>&) override {
    if (store_.empty()) throw UsageError("history: expected --store FILE");
    check_flags();
    std::vector<JournalContents> contents;
    for (const std::string& each : journals_) {
      contents.push_back(load_journal(each));
      for (const std::string& warning : contents.back().warnings) complain(warning);
      require_times(contents.back(), time_);  // of all, before one is added
    }
    if (contents.empty()) require_store();
    Store store(store_);
    for (const JournalContents& each : contents) {
      const AddedRuns added = store.add(each, time_);
      std::cout << fmt::format("{}: {} figures; runs: {} added, {} replaced", each.name,
                               added.figures, added.added, added.replaced);
      if (added.kept > 0)
        std::cout << fmt::format(", {} kept: the store has all of it and more", added.kept);
      std::cout << '\n';
    }
    if (contents.empty()) show(store);
    return 0;
  }

 private:
  void check_flags() const {
    if (!journals_.empty()) {
      refuse_given({{"--match", !match_.empty()},
                    {"--device", !device_.empty()},
                    {"--rate", !rate_.empty()},
                    {"--over-time", over_time_},
                    {"--csv", !csv_.empty()}},
                   "expected without journals, which are added and not shown");
      if (!time_.empty()) require_time();
    } else {
      refuse_given({{"--time", !time_.empty()}}, "expected with journals");
    }
  }

  void require_time() const {
    if (is_time_utc(time_)) return;
    throw UsageError(fmt::format("--time {}: expected a time like 2026-11-21T02:00:00Z", time_));
  }

  void require_store() const {
    if (std::filesystem::is_regular_file(store_)) return;
    throw UsageError(
        fmt::format("--store {}: there is no such store; journals that are named are "
                    "added to a new one",
                    store_));
  }

  void show(Store& store) const {
    HistoryFilter filter;
    filter.words = words_of(match_);
    filter.device = device_;
    filter.rate = rate_;
    const std::vector<HistoryPoint> points = store.points(filter);
    if (points.empty()) throw UsageError(fmt::format("store {}: no such figure", store_));
    if (!csv_.empty()) OutputFile::create(csv_, "expected another name").write(history_csv(points));
    if (names_standard_output(csv_)) return;
    std::cout << (over_time_ ? history_over_time(points) : history_table(points));
    if (!over_time_ && match_.empty() && device_.empty() && rate_.empty()) show_unlike();
  }

  // What the latest figures of each host say of places with peers, as duet fleet judges.
  void show_unlike() const {
    constexpr std::size_t kMost = 5;
    const FleetReport report =
        fleet_report(read_fleet({store_}, {NodeNaming::host, Repeats::latest}), {}, {});
    const int judged = judged_figures(report);
    if (judged == 0) return;
    const std::string suspects = suspects_table(report, kMost);
    std::cout << '\n'
              << (suspects.empty()
                      ? fmt::format("nothing is slower than its peers in {} figures\n", judged)
                      : suspects);
  }

  std::vector<std::string> journals_;
  std::string store_, match_, device_, rate_, csv_, time_;
  bool over_time_ = false;
};

}  // namespace

DUET_DEFINE_COMMAND(history, HistoryCommand)

}  // namespace duet
