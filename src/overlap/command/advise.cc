// `duet advise`: the policy under which a GEMM and a collective should run, and scores of such
// advice.
#include <fmt/format.h>

#include <iostream>

#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/flag_values.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/outputs.h"
#include "collectives/collective.h"
#include "core/error.h"
#include "core/output_file.h"
#include "overlap/advisor/table_file.h"
#include "overlap/command/advice.h"

namespace duet {
namespace {

class AdviseCommand : public Command {
 public:
  explicit AdviseCommand(CLI::App& root)
      : Command(
            root.add_subcommand("advise",
                                "Recommend a policy for a GEMM and a collective that run at the "
                                "same time, from a table that is measured once per device")) {
    add_device_flags(*app_, devices_, "host:2");
    add("--compute", compute_, "WORK", "gemm:MxNxK or gemm:MxNxK:DTYPE");
    add("--communicate", communicate_, "WORK", "all_gather:896M or another collective");
    add("--table", table_, "FILE",
        "Table to use, or a journal of --measure (*.jsonl); default: the table that --measure "
        "stored; without one, measure what is needed. --measure: the file to store it in; -: "
        "standard output");
    app_->add_flag("--measure", measure_, "Measure the device's table and store it");
    add("--score", journal_, "JOURNAL",
        "Compare the advice with a journal of duet overlap: how often it is right, and the largest "
        "loss");
    add("--collectives", kinds_, "LIST",
        "--measure: collectives in the table; default all_gather, all_to_all, reduce_scatter, "
        "all_reduce");
    add("--iterations", iterations_, "COUNT",
        "Minimum iterations per case; default 9, after 6 to warm up");
    add("--json", output_.json, "FILE", "Write measurements to a new journal");
    app_->add_flag("--quiet", output_.quiet, "Do not show the cases that are measured");
    offer(*app_, "--collectives", [] { return names_of(all_collectives()); });
  }

  int run(const std::vector<std::string>& line) override {
    require_one_process("advise");
    const int tasks = (measure_ ? 1 : 0) + (journal_.empty() ? 0 : 1) + (compute_.empty() ? 0 : 1);
    if (tasks != 1 || compute_.empty() != communicate_.empty()) {
      throw UsageError(
          "advise: expected --compute with --communicate, or --measure, or --score JOURNAL");
    }
    require_effect();
    if (measure_) return keep_table(line);
    return journal_.empty() ? advise_pair(line) : score_journal();
  }

 private:
  // Refuses flags that have no effect on the chosen task.
  void require_effect() const {
    if (!measure_) {
      refuse_given({{"--collectives", !kinds_.empty()}}, "expected --measure as well");
    }
    const bool measures = measure_ || (journal_.empty() && table_.empty());
    if (!measures) {
      refuse_given({{"--iterations", !iterations_.empty()}, {"--json", !output_.json.empty()}},
                   "expected without --score or --table, by which nothing is measured");
    }
    if (!journal_.empty()) {
      refuse_given({{"--device", !devices_.devices.empty()}},
                   "expected without --score: the journal names its machine");
    }
  }

  std::string device() const {
    const std::vector<std::string> names = device_names(devices_);
    if (names.size() > 1) throw UsageError("advise: expected one machine in --device");
    return names.empty() ? "host:2" : names.front();
  }

  ProbeOptions probes() const {
    ProbeOptions options;
    options.collectives =
        parse_list(kinds_.empty() ? "all_gather,all_to_all,reduce_scatter,all_reduce" : kinds_,
                   parse_collective);
    if (!iterations_.empty()) {
      options.mode.iterations = parse_number(iterations_, 1, "--iterations");
    }
    return options;
  }

  int keep_table(const std::vector<std::string>& line) const {
    const std::string path = table_.empty() ? TableFile::usual_path() : table_;
    OutputFlags output = output_;
    output.other_files = {{"--table", table_}};
    if (OutputFile::is_special(path)) {  // which keeps nothing
      const DeviceTable table = measure_table(device(), probes(), output, line);
      OutputFile::write_whole(path, tables_text({table}), interrupted);
      return 0;
    }
    TableFile file(path);
    file.require_writable();
    const DeviceTable table = measure_table(device(), probes(), output, line);
    file.store(table);
    if (!output.quiet) {
      text_stream(output) << fmt::format("table of {} x {} stored in {}\n", table.ranks,
                                         table.device, path);
    }
    return 0;
  }

  int advise_pair(const std::vector<std::string>& line) const {
    const OverlapScenario scenario = parse_scenario(compute_, communicate_);
    gemm_beside_collective(scenario);  // or nothing is measured
    const DeviceTable table = table_for(scenario, line);
    check_scenario(scenario, table.ranks);
    text_stream(output_) << advice_text(scenario, table,
                                        advise(table, peaks_of(table.model), scenario));
    return 0;
  }

  // A file with one table names its device, so that no machine has to be opened.
  DeviceTable table_for(const OverlapScenario& scenario,
                        const std::vector<std::string>& line) const {
    if (!table_.empty() && device_names(devices_).empty()) return read_table(table_, "", 0);
    const DeviceTable own = empty_table(*open_machines({device()}).front());
    check_scenario(scenario, own.ranks);
    if (!table_.empty()) return read_table(table_, own.device, own.ranks);
    const TableFile file(TableFile::usual_path());
    if (const DeviceTable* found = file.find(own.device, own.ranks)) return *found;
    complain(
        "no table of this device: measuring what this pair needs; duet advise "
        "--measure keeps one");
    ProbeOptions options = probes();
    const GemmBesideCollective pair = gemm_beside_collective(scenario);
    options.collectives = {pair.collective};
    options.dtype = pair.problem.dtype;
    OutputFlags output = output_;
    output.quiet = true;
    return measure_table(device(), options, output, line);
  }

  int score_journal() const {
    const JournalRows sweep = rows_of(journal_);
    const DeviceTable table = read_table(table_.empty() ? TableFile::usual_path() : table_,
                                         sweep.device.device, sweep.device.ranks);
    text_stream(output_) << score_text(score(table, peaks_of(table.model), sweep.rows));
    return 0;
  }

  DeviceFlags devices_;
  OutputFlags output_;
  std::string compute_, communicate_, table_, journal_, kinds_, iterations_;
  bool measure_ = false;
};

}  // namespace

DUET_DEFINE_COMMAND(advise, AdviseCommand)

}  // namespace duet
