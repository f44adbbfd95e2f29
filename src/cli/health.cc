// `duet health`: whether this node is in order, in one line and an exit code.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <optional>

#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/interrupt.h"
#include "cli/node_machines.h"
#include "cli/outputs.h"
#include "cli/time_limit.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/prometheus_text.h"
#include "health/peers.h"
#include "health/report.h"
#include "results/environment.h"
#include "results/host_facts.h"
#include "results/host_load.h"
#include "results/journal.h"
#include "results/writers/axis_columns.h"
#include "run/suites.h"

namespace duet {
namespace {

constexpr double kUsualLimit = 180;  // seconds

class HealthCommand : public Command {
 public:
  explicit HealthCommand(CLI::App& root)
      : Command(root.add_subcommand(
            "health",
            "Check this node: errors and links that drivers report, and short measurements; prints "
            "one line, exits with 1 if the node is faulty")) {
    add_device_flags(*app_, devices_, "all GPUs; on a node without GPUs, host");
    app_->add_option("--seconds", seconds_,
                     "Time for all of it, after which the node counts as failed; default 180")
        ->type_name("SECONDS")
        ->check(seconds_above_0("--seconds"));
    app_->add_flag("--no-measurements", no_measurements_,
                   "Query the drivers only, which takes a second");
    add("--prometheus", prometheus_, "FILE",
        "Write the results for node_exporter's textfile collector, and replace FILE atomically, if "
        "an earlier check wrote it; -: to standard output, and everything else to standard error");
    add("--json", json_, "FILE",
        "Write a journal of the measurements; -: to standard output, and everything else to "
        "standard error");
    app_->add_flag("--verbose", verbose_, "Also print a line per check and figure");
  }

  int run(const std::vector<std::string>& line) override {
    require_one_process("health");
    if (no_measurements_) {
      refuse_given({{"--json", !json_.empty()}}, "expected without --no-measurements");
    }
    const double begin = steady_now();
    const std::vector<std::string> names = device_names(devices_);
    open_files();
    report_.host = host_facts().host_name;
    const double limit = seconds_.value_or(kUsualLimit);
    RunStep step;
    TimeLimit time_limit(limit, [this, &step, limit] { give_up(step.text(), limit); });
    open(names);
    measure(step, line);
    report_.seconds = steady_now() - begin;
    time_limit.end();
    const bool written = write_prometheus(report_, interrupted);
    std::ostream& out = text_file() == STDOUT_FILENO ? std::cout : std::cerr;
    if (verbose_) out << lines_of(report_);
    out << one_line_of(report_) << std::endl;
    if (!faults(report_).empty() || report_.interrupted) return 1;
    return written ? 0 : 2;
  }

 private:
  // Called by the thread of TimeLimit, while the others may hang: it reads nothing that they write.
  void give_up(const std::string& step, double limit) {
    HealthReport report;
    report.host = report_.host;
    report.seconds = limit;
    report.stopped = fmt::format("not done after {:g} s, while {}", limit, step);
    const std::string text = one_line_of(report) + '\n';
    const ssize_t written = ::write(text_file(), text.data(), text.size());
    static_cast<void>(written);                     // the exit code says it as well
    write_prometheus(report, [] { return true; });  // no wait for the reader of a pipe
  }

  // Before anything is measured, so that a file which cannot be written is bad usage.
  void open_files() {
    require_different_files({{"--json", json_}, {"--prometheus", prometheus_}});
    if (!prometheus_.empty()) OutputFile::check_replaceable(prometheus_, kPrometheusHead);
    if (!json_.empty()) journal_.emplace(create_journal(json_));
  }

  // Where the line goes: it does not mix with what --json or --prometheus writes.
  int text_file() const {
    const bool taken = names_standard_output(json_) || names_standard_output(prometheus_);
    return taken ? STDERR_FILENO : STDOUT_FILENO;
  }

  // False, with a message, if the file system refuses. An interrupted check says nothing of the
  // node: the metrics stay as they were.
  bool write_prometheus(const HealthReport& report, const OutputFile::Stop& stop) const {
    if (prometheus_.empty() || report.interrupted) return true;
    try {
      OutputFile::replace_whole(prometheus_, kPrometheusHead,
                                prometheus_text(report, unix_seconds()), stop);
      return true;
    } catch (const std::exception& error) {
      complain(fmt::format("--prometheus: {}", error.what()));
      return false;
    }
  }

  // GPUs that were asked for and cannot be opened are a fault of the node; other names are bad
  // usage.
  void open(const std::vector<std::string>& names) {
    if (names.empty()) {
      plan_.machines = open_gpus_or_host();
      return;
    }
    for (const std::string& each : names) {
      try {
        plan_.machines.push_back(open_machine(each));
      } catch (const Error& error) {
        if (!names_gpus(each)) {
          if (journal_) journal_->discard();
          throw;
        }
        report_.checks.push_back({"device", each, Status::failed, error.what()});
      }
    }
  }

  void measure(RunStep& step, const std::vector<std::string>& line) {
    catch_interrupts(true);
    set_last_words(fmt::format("duet health: STOPPED {}: interrupted", report_.host));
    std::vector<Machine*> machines;
    for (const auto& machine : plan_.machines) {
      machines.push_back(machine.get());
      if (no_measurements_) continue;
      const bool is_cpu = machine->device(0).info().is_cpu;
      for (const SuiteEntry& entry : health_entries(is_cpu)) {
        add_entry(plan_, *machine, entry, interrupted);
      }
    }
    const Environment environment = make_environment(machines, {line, false, 1, {}});
    Figures figures(environment);
    run_cases(step, environment, figures);
    step.set("asking the drivers");
    for (Machine* machine : machines) {
      for (Check& check : machine_checks(*machine, figures.records())) {
        report_.checks.push_back(std::move(check));
      }
    }
    for (Check& check : peer_checks(environment, figures.records())) {
      report_.checks.push_back(std::move(check));
    }
    report_.figures = figures.judged();
    report_.missed = figures.missed();
  }

  void run_cases(RunStep& step, const Environment& environment, Figures& figures) {
    std::vector<Writer*> writers{&figures};
    std::optional<JournalWriter> writer;
    if (journal_) {
      journal_->write(journal_line(environment));
      writer.emplace(*journal_);
      writers.push_back(&*writer);
    }
    name_steps(step);
    RunnerOptions options;
    options.stop = interrupted;
    options.load = true;
    options.doubtful = [&figures](const Record& one) { return figures.doubtful(one); };
    const LoadMeter meter;
    const Tally tally = run_jobs(plan_.jobs, writers, options);
    report_.interrupted = tally.interrupted;
    const auto load = meter.share();
    if (load && is_high(*load)) report_.load = load_text(*load);
  }

  // Each case says that it is what runs.
  void name_steps(RunStep& step) {
    for (Job& job : plan_.jobs) {
      for (Case& one : job.benchmark.cases) {
        one.run = [&step, text = line_of(one.id), run = std::move(one.run)] {
          step.set("measuring " + text);
          return run();
        };
      }
    }
  }

  DeviceFlags devices_;
  std::optional<double> seconds_;
  std::string prometheus_, json_;
  bool no_measurements_ = false, verbose_ = false;
  RunPlan plan_;
  std::optional<OutputFile> journal_;
  HealthReport report_;
};

}  // namespace

DUET_DEFINE_COMMAND(health, HealthCommand)

}  // namespace duet
