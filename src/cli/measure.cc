#include "cli/measure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "cli/complain.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/standard_output.h"
#include "core/clock.h"
#include "core/output_file.h"
#include "core/plain_text.h"
#include "core/profiler_range.h"
#include "core/terminal.h"
#include "results/environment.h"
#include "results/writers/console.h"
#include "results/writers/csv.h"
#include "run/lockstep.h"
#include "run/runner.h"
#include "run/suite_summary.h"
#include "team/agreement.h"
#include "team/launch.h"
#include "team/processes.h"
#include "team/rendezvous.h"
#include "verdict/summary.h"

namespace duet {
namespace {

constexpr std::size_t kDoubtsOfSuite = 2;  // most doubts that a suite prints with their reasons

int progress_width() {
  const std::size_t width = terminal_width(STDERR_FILENO);
  return width > 20 ? static_cast<int>(width) : 80;
}

std::string tally_text(const Tally& tally) {
  std::string text = fmt::format("{} {}: {} measured", tally.cases,
                                 tally.cases == 1 ? "case" : "cases", tally.measured);
  if (tally.skipped > 0) text += fmt::format(", {} skipped", tally.skipped);
  if (tally.wrong > 0) text += fmt::format(", {} WRONG", tally.wrong);
  if (tally.failed > 0) text += fmt::format(", {} failed", tally.failed);
  if (tally.resumed > 0) text += fmt::format(" ({} by the earlier run)", tally.resumed);
  return text;
}

bool is_file(const std::string& path) { return !path.empty() && !names_standard_output(path); }

// Prints the verdicts, the counts and the names of the files.
void print_results(const Tally& tally, const VerdictSummary& verdicts, const OutputFlags& flags,
                   std::size_t most_doubts) {
  if (flags.quiet) return;
  std::ostream& out = text_stream(flags);
  out << '\n' << verdicts.text(most_doubts) << tally_text(tally);
  if (is_file(flags.json)) out << "; journal: " << flags.json;
  if (is_file(flags.csv)) out << "; table: " << flags.csv;
  out << std::endl;
}

// True if all cases were skipped: the run counts as failed.
bool nothing_measured(const Tally& tally) {
  return tally.measured + tally.wrong + tally.failed == 0 && !tally.interrupted;
}

// The most frequent reasons.
std::string reasons_text(const std::map<std::string, int>& reasons) {
  constexpr std::size_t kMost = 3;
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(-count, reason);
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, sorted.size()); ++i) {
    text += fmt::format("{}{} ({})", i > 0 ? "; " : "", sorted[i].second, -sorted[i].first);
  }
  if (sorted.size() > kMost) text += fmt::format("; and {} more reasons", sorted.size() - kMost);
  return text;
}

// Tells the user how to resume a run that was interrupted.
std::string how_to_resume(const RunPlan& plan, const OutputFlags& flags,
                          const std::vector<std::string>& command) {
  if (!is_file(flags.json) && !flags.has_checkpoint) {
    return "with --json FILE it could be resumed";
  }
  return fmt::format("resume with: {}{}{}", plan.own_processes ? "" : launch_prefix(),
                     quote_command(command), flags.resume ? "" : " --resume");
}

// Writes what went wrong to standard error.
void report_problems(const Tally& tally, const VerdictSummary& verdicts, const OutputFlags& flags,
                     const std::string& resume) {
  if (tally.interrupted) {
    const int done = tally.measured + tally.skipped + tally.wrong + tally.failed;
    complain(fmt::format("{} after {} of {} cases; {}",
                         tally.lost.empty() ? "interrupted" : tally.lost, done, tally.cases,
                         resume));
  } else if (tally.wrong + tally.failed > 0) {
    complain(fmt::format("of {} cases {} left wrong data and {} failed: {}", tally.cases,
                         tally.wrong, tally.failed, reasons_text(tally.failed_for)));
  } else if (nothing_measured(tally)) {
    complain(fmt::format("nothing was measured: {} skipped: {}", tally.skipped,
                         reasons_text(tally.skipped_for)));
  }
  if (!flags.check) return;
  if (nothing_measured(tally)) return;
  if (verdicts.judged() == 0) {
    complain(
        verdicts.busy() > 0
            ? fmt::format("--check: {} figures are unknown: the machine was busy", verdicts.busy())
            : "--check: there was an expectation for none of the figures");
    return;
  }
  const int simulated = verdicts.passed(true);
  std::string line = fmt::format("--check: of {} figures with an expectation ", verdicts.judged());
  if (verdicts.doubts() > 0) {
    line += fmt::format("{} are LOW or SUSPECT-HIGH, ", verdicts.doubts());
  }
  line += fmt::format("{} PASS", verdicts.passed(false));
  if (simulated > 0)
    line += fmt::format(", {} PASS on simulated machines, which measures none", simulated);
  if (verdicts.busy() > 0) line += fmt::format("; {} unknown: busy", verdicts.busy());
  complain(line);
}

// Warns on standard error if other programs used much of the CPU.
void warn_of_load(const LoadMeter& load) {
  const auto share = load.share();
  if (!share || !is_high(*share)) return;
  complain(
      fmt::format("the machine was busy: {}: figures of the CPU are too low", load_text(*share)));
}

int exit_code(const Tally& tally, const VerdictSummary& verdicts, const OutputFlags& flags) {
  const bool bad = tally.interrupted || tally.wrong + tally.failed > 0 || nothing_measured(tally);
  return bad || (flags.check && verdicts.doubts() > 0) ? 1 : 0;
}

// True if records get the host's load: it affects figures of real machines.
bool keeps_load(const RunPlan& plan, const OutputFlags& flags) {
  const auto& machines = plan.machines;
  return !flags.reproducible && !std::all_of(machines.begin(), machines.end(),
                                             [](const auto& one) { return one->is_virtual(); });
}

bool speaks(const RunPlan& plan) {
  return plan.processes == nullptr || plan.processes->index() == 0;
}

// The flags for a process other than 0: those alone that change which calls it makes.
OutputFlags without_output(const OutputFlags& flags) {
  OutputFlags left;
  left.quiet = true;
  left.check = flags.check;
  return left;
}

// By process. All processes call it together.
std::vector<std::string> hosts_of(const RunPlan& plan) {
  if (process_count(plan) == 1) return {};
  return plan.processes->gather_all(host_name(), "all processes to name their hosts",
                                    kDefaultDeadlineSeconds);
}

std::vector<Section> sections(const RunPlan& plan) {
  std::vector<Section> all;
  for (const Job& job : plan.jobs) all.push_back(job.section);
  return all;
}

int list_cases(const RunPlan& plan, const OutputFlags& flags) {
  refuse_given({{"--json", !flags.json.empty()},
                {"--csv", !flags.csv.empty()},
                {"--report", flags.report.has_value()},
                {"--check", flags.check},
                {"--resume", flags.resume},
                {"--reproducible", flags.reproducible},
                {"--quiet", flags.quiet},
                {"--verbose", flags.verbose}},
               "expected without --list, which measures nothing");
  if (speaks(plan)) print_cases(plan.jobs, std::cout);
  return 0;
}

}  // namespace

int measure(const RunPlan& plan, const OutputFlags& asked,
            const std::vector<std::string>& command) {
  const OutputFlags flags = speaks(plan) ? asked : without_output(asked);
  if (plan.jobs.empty()) {
    throw UsageError("nothing to measure: the devices have no case of the kinds that were chosen");
  }
  if (asked.list) return list_cases(plan, asked);
  if (asked.nvtx && !show_profiler_ranges() && speaks(plan)) {
    complain(
        "--nvtx: no tool takes the ranges: expected a run by nsys profile, of a duet that was "
        "built with CUDA");
  }
  const std::string resume = how_to_resume(plan, flags, command);
  catch_interrupts(speaks(plan), asked.has_checkpoint ? Stopping::with_checkpoint : Stopping::soon);
  std::vector<Machine*> machines;
  for (const auto& machine : plan.machines) machines.push_back(machine.get());
  const Environment environment = make_environment(
      machines, {command, flags.reproducible, process_count(plan), plan.names, hosts_of(plan)});
  Outputs outputs = open_outputs(flags, environment, sections(plan));
  for (const std::string& warning : outputs.earlier.warnings) complain(warning);
  set_last_words(one_line("duet: stopped; " + resume));

  // The journal is the first writer: what the console shows has been stored.
  std::vector<std::unique_ptr<Writer>> writers;
  if (outputs.journal) {
    outputs.journal->write(journal_line(environment));
    writers.push_back(std::make_unique<JournalWriter>(*outputs.journal));
  }
  if (outputs.csv) {
    const auto write = [&](std::string_view text) { outputs.csv->write(text); };
    writers.push_back(std::make_unique<CsvWriter>(sections(plan), write));
  }
  if (!flags.quiet) {
    // mpirun gives its processes a terminal even if its own output is none.
    std::ostream& out = text_stream(flags);
    const int file = &out == &std::cout ? STDOUT_FILENO : STDERR_FILENO;
    const bool colour = process_count(plan) == 1 && has_colours(file);
    if (plan.suite && !flags.verbose) {
      writers.push_back(std::make_unique<SuiteSummary>(out, environment, outputs.earlier.runs));
    } else if (flags.table) {
      writers.push_back(flags.table(out));
    } else {
      writers.push_back(std::make_unique<ConsoleWriter>(
          out, colour, flags.verbose ? Detail::every_case : Detail::short_tables));
    }
  }
  std::vector<Writer*> views;
  for (const auto& writer : writers) views.push_back(writer.get());
  VerdictSummary verdicts(environment, outputs.earlier.runs);
  ReportWriter report(is_file(flags.json) ? flags.json : "this run", outputs, environment);
  views.push_back(&verdicts);
  if (!outputs.report.empty()) views.push_back(&report);

  Progress progress(std::cerr, progress_width(), steady_now);
  RunnerOptions options;
  options.earlier = outputs.earlier.by_case();
  options.stop = interrupted;
  options.processes = plan.processes;
  if (flags.check) options.doubtful = [&](const Record& one) { return verdicts.doubtful(one); };
  if (!flags.quiet && has_cursor(STDERR_FILENO)) options.progress = &progress;
  // LoadMeter would count the other processes of the run as other programs.
  options.load = keeps_load(plan, flags) && process_count(plan) == 1;
  const LoadMeter load;
  const Tally tally = run_jobs(plan.jobs, views, options);
  if (outputs.journal && keeps_load(plan, flags)) {
    outputs.journal->write(journal_line(make_end(options.load ? &load : nullptr)));
  }
  // The summary is printed before the page is written, which may fail.
  print_results(tally, verdicts, flags,
                plan.suite && !flags.verbose ? kDoubtsOfSuite : VerdictSummary::kMostDoubts);
  if (speaks(plan)) report_problems(tally, verdicts, flags, resume);
  if (options.load && !flags.quiet) warn_of_load(load);
  if (!outputs.report.empty()) {
    report.finish();
    if (!flags.quiet && is_file(outputs.report)) {
      text_stream(flags) << "report: " << outputs.report << std::endl;
    }
  }
  const int code = exit_code(tally, verdicts, flags);
  if (!tally.lost.empty()) return code;
  return Lockstep(plan.processes).decided(code, "process 0 to have written all");
}

void open_own_machines(RunPlan& plan, const std::vector<std::string>& devices,
                       Processes& processes) {
  plan.processes = &processes;
  run_together(processes, [&] {
    for (const std::string& device : devices) {
      const std::string own = own_device(device, processes);
      plan.machines.push_back(open_machine(own));
      plan.names.push_back(own == device ? plan.machines.back()->name() : device);
    }
  });
}

}  // namespace duet
