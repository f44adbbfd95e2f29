// `duet soak`: everything at once for hours, every result compared.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <mutex>
#include <optional>

#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/flag_values.h"
#include "cli/interrupt.h"
#include "cli/node_machines.h"
#include "cli/outputs.h"
#include "cli/time_limit.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/names.h"
#include "core/output_file.h"
#include "core/plain_text.h"
#include "core/prometheus_text.h"
#include "core/terminal.h"
#include "core/units.h"
#include "health/checks.h"
#include "results/environment.h"
#include "results/host_facts.h"
#include "results/journal.h"
#include "results/writers/axis_columns.h"
#include "results/writers/progress.h"
#include "soak/record.h"
#include "soak/summary.h"
#include "team/launch.h"

namespace duet {
namespace {

constexpr double kUsualHours = 1, kMostHours = 24 * 366;
constexpr double kMinute = 60, kHour = 3600;
constexpr int kMostSoakRounds = 1'000'000'000;
// A round that takes this much longer than it should is given up, whatever it waits for.
constexpr double kRoundGrace = 300;
constexpr double kEndGrace = 60;  // to free what a failed run leaves
constexpr double kUsualSlowBelow = 0.7;
constexpr std::int64_t kMostSeed = std::int64_t{1} << 53;  // whole numbers of JSON's readers

enum class StopOn { never, error };
constexpr NamedValue<StopOn> kStopOns[] = {{StopOn::never, "never"}, {StopOn::error, "error"}};

std::string round_text(const SoakRound& round, const Record& record) {
  double slowest = 0;
  for (const double tflops : round.tflops) {
    slowest = slowest > 0 ? std::min(slowest, tflops) : tflops;
  }
  return fmt::format("{}: {} TFLOP/s on the slowest device, {} compared, {:.0f} wrong",
                     case_text(record.id), format_rate(slowest),
                     format_bytes(static_cast<std::uint64_t>(round.compared_bytes)), round.wrong);
}

class SoakCommand : public Command {
 public:
  explicit SoakCommand(CLI::App& root)
      : Command(root.add_subcommand(
            "soak",
            "Run multiplications, collectives and copies at once for hours and compare every "
            "result; watch counters, clocks and rates; prints one line, exits with 1 if anything "
            "was wrong")) {
    add_device_flags(*app_, devices_, "all GPUs; on a node without GPUs, host");
    add_length_flags();
    add_finding_flags();
    add("--json", json_, "FILE", "Write a journal with a record of each round");
    app_->add_flag("--resume", resume_,
                   "Go on with the journal of --json after its last round, with its seed");
    add("--prometheus", prometheus_, "FILE",
        "Write metrics for node_exporter's textfile collector after each round, and replace FILE "
        "atomically, if an earlier soak wrote it");
    app_->add_flag("--verbose", verbose_, "Also print a line per round and finding");
    offer(*app_, "--stop-on", {"error", "never"});
  }

  int run(const std::vector<std::string>& line) override {
    require_one_process("soak");
    check_flags();
    report_.host = host_facts().host_name;
    RunStep step;
    TimeLimit time_limit(kRoundGrace, [&] { give_up(step.text()); });
    if (open()) soak(line, step, time_limit);
    time_limit.end();
    return finish();
  }

 private:
  void add_length_flags() {
    const auto length = [this](const char* flag, std::optional<double>& value, const char* type,
                               double most, const char* text) {
      app_->add_option(flag, value, text)->type_name(type)->check(number_above_0(flag, most, type));
    };
    length("--hours", hours_, "HOURS", kMostHours, "How long; default 1");
    length("--minutes", minutes_, "MINUTES", 60 * kMostHours, "In place of --hours");
    app_->add_option("--rounds", rounds_, "In place of --hours: so many rounds")
        ->type_name("COUNT")
        ->check(CLI::Range(1, kMostSoakRounds));
    app_->add_option("--round", only_, "Only this round, as it was in a run with --seed")
        ->type_name("NUMBER")
        ->check(CLI::Range(1, kMostSoakRounds));
    app_->add_option("--round-seconds", round_seconds_, "Length of a round")
        ->type_name("SECONDS")
        ->check(seconds_above_0("--round-seconds"))
        ->capture_default_str();
    app_->add_option("--seed", seed_, "Of shapes, sizes and contents; default: from the time")
        ->type_name("NUMBER")
        ->check(CLI::Range(std::int64_t{0}, kMostSeed));
    add("--memory", memory_, "SIZE",
        "Memory of each device that only keeps its contents during a round; default: three "
        "quarters of a GPU's, 16M of a CPU's, 1M of a simulated device's");
  }

  void add_finding_flags() {
    add("--stop-on", stop_on_, "WHAT",
        "error: end after the first round with wrong data, a counter that grew or an XID; never: "
        "only a lost device ends the run; default never");
    app_->add_option("--slow-below", slow_below_,
                     "A device whose rate in a round is below this share of the median of its "
                     "product's rates is a finding; 0: rates are not judged; default 0.7, on CPUs "
                     "0")
        ->type_name("SHARE")
        ->check(CLI::Range(0.0, 1.0));
    add("--allow", allow_, "LIST",
        "Growth of counters in the whole run that is no finding, such as "
        "corrected_errors=10,pcie_replays=2");
    add("--inject", inject_, "LIST",
        "Plant faults to try alarms, as FAULT@ROUND:DEVICE: memory, link, core or collective "
        "change a "
        "bit, slow, counter, xid, lost; the device by its number");
  }

  void check_flags() const {
    const int lengths = (hours_ ? 1 : 0) + (minutes_ ? 1 : 0) + (rounds_ ? 1 : 0) + (only_ ? 1 : 0);
    if (lengths > 1) {
      throw UsageError("--hours, --minutes, --rounds and --round: expected one of them");
    }
    if (only_ && !seed_)
      throw UsageError("--round: expected --seed as well, which the journal has");
    if (only_) refuse_given({{"--resume", resume_}}, "expected without --round");
    if (!prometheus_.empty()) OutputFile::check_replaceable(prometheus_, kSoakPrometheusHead);
  }

  // False, with a finding, if GPUs that were asked for cannot be opened.
  bool open() {
    const std::vector<std::string> names = device_names(devices_);
    try {
      auto machines = names.empty() ? open_gpus_or_host() : open_machines(names);
      if (machines.size() != 1) {
        throw UsageError(fmt::format("--device: expected one machine, not {}", machines.size()));
      }
      machine_ = std::move(machines.front());
    } catch (const Error& error) {
      if (names.size() != 1 || !names_gpus(names.front())) throw;
      report_.checks.push_back(fmt::format("{}: {}", names.front(), error.what()));
      return false;
    }
    for (int i = 0; i < machine_->size(); ++i) {
      report_.devices.push_back(machine_->device(i).info().name);
      report_.models.push_back(machine_->device(i).info().model);
    }
    report_.virtual_time = machine_->is_virtual();
    report_.slow_below =
        slow_below_.value_or(machine_->device(0).info().is_cpu ? 0 : kUsualSlowBelow);
    return true;
  }

  void soak(const std::vector<std::string>& line, RunStep& step, TimeLimit& time_limit) {
    SoakOptions options;
    options.round_seconds = round_seconds_;
    if (!memory_.empty()) options.kept_bytes = parse_bytes(memory_);
    options.allowed = parse_soak_allowances(allow_);
    options.injections = parse_injections(inject_, machine_->size());
    catch_interrupts(true);
    const Environment environment = make_environment({machine_.get()}, {line, false, 1, {}});
    Outputs outputs = open_journal_of_run(environment);
    options.seed = seed_of_run();
    resume_text_ = resume_text(line);
    set_last_words(one_line(
        fmt::format("duet soak: STOPPED {}: interrupted; {}", report_.host, resume_text_)));
    if (outputs.journal) outputs.journal->write(journal_line(environment));
    add_checks();
    step.set("allocating memory");
    report_.running = true;
    SoakRunner runner(*machine_, options, interrupted,
                      [&step](const std::string& text) { step.set(text); });
    Progress progress(std::cerr, progress_columns(), steady_now);
    write_prometheus();
    while (goes_on()) {
      time_limit.restart(2 * round_seconds_ + kRoundGrace);
      if (has_cursor(STDERR_FILENO)) progress.show(progress_text());
      const SoakRound round = runner.run(next_round());
      progress.clear();
      keep(round, outputs);
    }
    time_limit.restart(kRoundGrace);
    add_checks();
    if (outputs.journal) outputs.journal->write(journal_line(make_end(nullptr)));
    step.set("freeing memory");
    time_limit.restart(kEndGrace);
  }

  Outputs open_journal_of_run(const Environment& environment) {
    OutputFlags flags;
    flags.json = json_;
    flags.resume = resume_;
    flags.other_files = {{"--prometheus", prometheus_}};
    Outputs outputs = open_outputs(flags, environment, {});
    for (const std::string& warning : outputs.earlier.warnings) complain(warning);
    for (const JournalRun& run : outputs.earlier.runs) {
      for (const Record& record : run.results) {
        if (auto round = soak_round_of(record, report_.devices)) {
          report_.rounds.push_back(std::move(*round));
        }
      }
    }
    resumed_ = report_.rounds.size();
    return outputs;
  }

  std::uint64_t seed_of_run() const {
    if (report_.rounds.empty()) {
      return static_cast<std::uint64_t>(seed_.value_or(static_cast<std::int64_t>(unix_seconds())));
    }
    const std::uint64_t earlier = report_.rounds.front().seed;
    if (seed_ && static_cast<std::uint64_t>(*seed_) != earlier) {
      throw UsageError(
          fmt::format("--seed {}: {} has the seed {}: expected none", *seed_, json_, earlier));
    }
    return earlier;
  }

  std::string resume_text(const std::vector<std::string>& line) const {
    if (json_.empty()) return "with --json FILE it could be resumed";
    return "resume with: " + quote_command(line) + (resume_ ? "" : " --resume");
  }

  static int progress_columns() {
    const std::size_t width = terminal_width(STDERR_FILENO);
    return width > 20 ? static_cast<int>(width) : 80;
  }

  double seconds_asked() const {
    return minutes_ ? *minutes_ * kMinute : hours_.value_or(kUsualHours) * kHour;
  }

  int next_round() const {
    if (only_) return *only_;
    return report_.rounds.empty() ? 1 : report_.rounds.back().round + 1;
  }

  bool goes_on() {
    if (interrupted()) {
      report_.interrupted = true;
      return false;
    }
    const auto& rounds = report_.rounds;
    const bool error = stop_on() == StopOn::error;
    for (std::size_t i = resumed_; i < rounds.size(); ++i) {
      if (rounds[i].lost || (error && !rounds[i].findings.empty())) return false;
    }
    if (only_) return rounds.empty();
    if (rounds_) return rounds.empty() || rounds.back().round < *rounds_;
    return totals_of(report_).seconds < seconds_asked();
  }

  StopOn stop_on() const { return parse_name(kStopOns, "--stop-on", stop_on_); }

  // A round that the user cut short is made again by a resumed run, unless it found something.
  void keep(const SoakRound& round, Outputs& outputs) {
    if (round.cut_short && round.findings.empty()) return;
    const Record record = record_of(round, machine_->name(), report_.devices);
    if (outputs.journal) outputs.journal->write(journal_line(record));
    for (const SoakFinding& each : round.findings) {
      complain(fmt::format("round {}: {}", round.round, text_of(each)));
    }
    if (verbose_) text_out() << round_text(round, record) << std::endl;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!report_.rounds.empty()) report_.rounds.back().devices.clear();  // readings of sensors
      report_.rounds.push_back(round);
    }
    write_prometheus();
  }

  std::string progress_text() const {
    const SoakTotals totals = totals_of(report_);
    const std::string left =
        rounds_ || only_
            ? std::string()
            : fmt::format(", {} left",
                          duration_text(std::max(0.0, seconds_asked() - totals.seconds)));
    return fmt::format("[round {}{}] {} findings, {:.0f} wrong results, {} compared", next_round(),
                       left, findings_of(report_).size(), totals.wrong,
                       format_bytes(static_cast<std::uint64_t>(totals.compared_bytes)));
  }

  // What drivers tell at the begin and at the end, and what limited clocks meanwhile.
  void add_checks() {
    std::vector<Check> checks = machine_checks(*machine_, {});
    for (std::size_t i = 0; i < report_.devices.size(); ++i) {
      std::vector<std::string> seen;
      for (const SoakRound& round : report_.rounds) {
        if (i < round.limits.size() && !round.limits[i].empty()) seen.push_back(round.limits[i]);
      }
      if (!seen.empty()) checks.push_back(clocks_check(report_.devices[i], seen));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Check& check : checks) {
      const std::string text = fmt::format("{}: {}", check.device, check.text);
      const bool known =
          std::find(report_.checks.begin(), report_.checks.end(), text) != report_.checks.end();
      if (check.status == Status::failed && !known) report_.checks.push_back(text);
    }
  }

  std::ostream& text_out() const {
    return names_standard_output(json_) || names_standard_output(prometheus_) ? std::cerr
                                                                              : std::cout;
  }

  // While it runs, the file says so. False, with a message the first time, if it cannot be written.
  void write_prometheus() {
    if (prometheus_.empty()) return;
    try {
      const std::lock_guard<std::mutex> lock(mutex_);
      OutputFile::replace_whole(prometheus_, kSoakPrometheusHead,
                                prometheus_text(report_, unix_seconds()), interrupted);
    } catch (const std::exception& error) {
      if (!unwritten_) complain(fmt::format("--prometheus: {}", error.what()));
      unwritten_ = true;
    }
  }

  int finish() {
    report_.running = false;
    write_prometheus();
    if (verbose_) text_out() << lines_of(report_);
    text_out() << one_line_of(report_) << std::endl;
    if (report_.interrupted) complain(resume_text_);
    if (is_faulty(report_) || report_.interrupted) return 1;
    return unwritten_ ? 2 : 0;
  }

  // Called by the thread of TimeLimit, while a round hangs, in which nothing writes the report.
  void give_up(const std::string& step) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      report_.stopped = "no end after a long time, while " + step;
      report_.running = false;
    }
    const std::string text = one_line_of(report_) + '\n';
    const bool taken = names_standard_output(json_) || names_standard_output(prometheus_);
    const ssize_t written =
        ::write(taken ? STDERR_FILENO : STDOUT_FILENO, text.data(), text.size());
    static_cast<void>(written);  // the exit code says it as well
    write_prometheus();
  }

  DeviceFlags devices_;
  std::optional<double> hours_, minutes_, slow_below_;
  std::optional<int> rounds_, only_;
  std::optional<std::int64_t> seed_;
  double round_seconds_ = SoakOptions{}.round_seconds;
  std::string memory_, stop_on_ = "never", allow_, inject_, json_, prometheus_;
  bool resume_ = false, verbose_ = false;
  std::unique_ptr<Machine> machine_;
  std::mutex mutex_;  // guards report_ against the thread of TimeLimit
  SoakReport report_;
  std::size_t resumed_ = 0;  // rounds of an earlier run, after whose findings this one goes on
  std::string resume_text_;  // how a run that is interrupted goes on
  bool unwritten_ = false;
};

}  // namespace

DUET_DEFINE_COMMAND(soak, SoakCommand)

}  // namespace duet
