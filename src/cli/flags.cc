#include "cli/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "cli/flag_values.h"
#include "cli/lists.h"
#include "core/error.h"
#include "device/sim/platform.h"

namespace duet {
namespace {

std::optional<double> number_in(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool number = !text.empty() && *end == '\0' && std::isfinite(value);
  return number ? std::optional<double>(value) : std::nullopt;
}

CLI::Validator not_negative_seconds(const std::string& flag) {
  const auto check = [flag](const std::string& text) -> std::string {
    const std::optional<double> value = number_in(text);
    if (value && *value >= 0 && *value <= kMostSeconds) return "";
    throw UsageError(
        fmt::format("{} {}: expected a number of seconds from 0 to {}", flag, text, kMostSeconds));
  };
  return CLI::Validator(check, "");
}

CLI::Validator count(const std::string& flag) {
  const auto check = [flag](const std::string& text) -> std::string {
    parse_number(text, 1, flag);
    return "";
  };
  return CLI::Validator(check, "");
}

// Refuses a flag that has no effect in the mode.
void check_mode_flags(const ModeFlags& flags, const Mode& mode) {
  if (mode.kind == ModeKind::loop && flags.seconds) {
    throw UsageError("--seconds: expected without the mode loop, whose length --iterations sets");
  }
  const bool by_time = mode.kind == ModeKind::at_least || mode.kind == ModeKind::sustained;
  if (by_time && flags.iterations) {
    throw UsageError(
        fmt::format("--iterations: expected without the mode {}, whose length --seconds sets",
                    name(mode.kind)));
  }
}

}  // namespace

CLI::Validator number_above_0(const std::string& flag, double high, const std::string& unit) {
  const auto check = [=](const std::string& text) -> std::string {
    const std::optional<double> value = number_in(text);
    if (value && *value > 0 && *value <= high) return "";
    throw UsageError(
        fmt::format("{} {}: expected a number of {} above 0, at most {}", flag, text, unit, high));
  };
  return CLI::Validator(check, "");
}

CLI::Validator seconds_above_0(const std::string& flag) {
  return number_above_0(flag, kMostSeconds, "seconds");
}

void refuse_given(const std::vector<std::pair<const char*, bool>>& flags, const std::string& why) {
  for (const auto& [flag, given] : flags) {
    if (given) throw UsageError(fmt::format("{}: {}", flag, why));
  }
}

CLI::Validator not_empty() {
  const auto check = [](const std::string& text) -> std::string {
    return text.empty() ? "expected a value, not an empty text" : "";
  };
  return CLI::Validator(check, "");
}

CLI::Option* add_yes_no(CLI::App& app, const std::string& names, std::optional<bool>& value,
                        const std::string& text) {
  const std::size_t comma = names.find(',');
  const std::string yes = names.substr(0, comma), no = names.substr(comma + 2);
  const auto take = [&app, &value, yes, no](std::int64_t count) {
    // CLI11 sums up both flags: equal numbers cancel, and otherwise one hides the other.
    const auto given = static_cast<std::int64_t>(app.get_option(yes)->count());
    if (given != std::abs(count)) {
      throw UsageError(fmt::format("{} and {}: expected one of them", yes, no));
    }
    value = count > 0;
  };
  return app.add_flag_function(names, take, text);
}

void add_output_flags(CLI::App& app, OutputFlags& flags) {
  app.add_option("--json", flags.json,
                 "Write a journal: one JSON record per line, written after each case "
                 "(docs/results.md); -: to standard output, and everything else to standard error")
      ->type_name("FILE")
      ->check(not_empty())
      ->group("Output");
  app.add_option("--csv", flags.csv, "Write a table with one line per case; -: to standard output")
      ->type_name("FILE")
      ->check(not_empty())
      ->group("Output");
  const auto report = [&flags](const std::vector<std::string>& name) {
    flags.report = name.empty() ? "" : name.front();
    return true;
  };
  app.add_option(
         "--report", report,
         "Write the report, an HTML page, when the run ends (as duet report does); default "
         "name: the journal's with .html, or report.html; -: to standard output. A page that "
         "exists is replaced with --resume only")
      ->type_name("[FILE.html]")
      ->expected(0, 1)
      ->group("Output");
  app.add_flag("--check", flags.check,
               "Exit with 1 if a figure is LOW or SUSPECT-HIGH (docs/verdicts.md) and stays so "
               "when its case is measured again")
      ->group("Output");
  app.add_flag("--resume", flags.resume,
               "Continue the journal of --json: cases that it has are not measured again; "
               "duet train --data: continue from its checkpoint")
      ->group("Output");
  app.add_flag("--list,--dry-run", flags.list,
               "Print the cases and how long they may take, and measure nothing")
      ->group("Output");
  app.add_flag("--quiet", flags.quiet, "Print errors only: no tables, no progress")
      ->group("Output");
  app.add_flag("--verbose", flags.verbose,
               "Print one line per case as soon as it is measured, and all tables in full; "
               "default: one table per benchmark, shortened where it is long")
      ->group("Output");
  app.add_flag("--nvtx", flags.nvtx,
               "Mark cases, and what each rank enqueues, as NVTX ranges for nsys "
               "(docs/measuring.md)")
      ->group("Output");
  app.add_flag("--reproducible", flags.reproducible,
               "Omit fields that differ from run to run from the journal: time, host, command "
               "line, versions")
      ->group("Output");
}

void add_energy_flags(CLI::App& app, EnergyFlags& flags, const std::string& text) {
  app.add_flag("--energy", flags.energy, text);
  app.add_option("--energy-seconds", flags.seconds,
                 "With --energy, the minimum time per reading; default 1")
      ->type_name("SECONDS")
      ->check(seconds_above_0("--energy-seconds"));
}

double energy_seconds_of(const EnergyFlags& flags) {
  if (!flags.energy && flags.seconds) {
    throw UsageError("--energy-seconds: expected --energy as well");
  }
  return flags.energy ? flags.seconds.value_or(1) : 0;
}

void add_mode_flags(CLI::App& app, ModeFlags& flags) {
  app.add_option("--mode", flags.mode,
                 "Sampling mode: adaptive, do_bench, loop, at_least or sustained "
                 "(docs/measuring.md); default adaptive")
      ->type_name("MODE")
      ->check(not_empty())
      ->group("Measuring");
  app.add_option("--warm-up", flags.warm_up_seconds, "Warm-up time of a case; default: the mode's")
      ->type_name("SECONDS")
      ->check(not_negative_seconds("--warm-up"))
      ->group("Measuring");
  app.add_option(
         "--seconds", flags.seconds,
         "Measuring time of a case: a maximum (adaptive, do_bench; adaptive takes up to four "
         "times as long for slow or drifting calls) or a minimum (at_least, sustained); four "
         "times the time halves +-; default: the mode's")
      ->type_name("SECONDS")
      ->check(seconds_above_0("--seconds"))
      ->group("Measuring");
  app.add_option("--iterations", flags.iterations,
                 "loop: calls per sample; adaptive, do_bench: the maximum number of samples")
      ->type_name("COUNT")
      ->check(count("--iterations"))
      ->group("Measuring");
  add_yes_no(app, "--flush,!--no-flush", flags.flush,
             "Overwrite the last-level cache before each iteration, or do not; default: the mode's")
      ->group("Measuring");
  offer(app, "--mode", mode_names);
}

Mode mode_of(const ModeFlags& flags) {
  Mode mode = flags.mode.empty() ? Mode{} : parse_mode(flags.mode);
  check_mode_flags(flags, mode);
  if (flags.warm_up_seconds) mode.warm_up_seconds = *flags.warm_up_seconds;
  if (flags.seconds) mode.seconds = *flags.seconds;
  if (flags.iterations && mode.kind == ModeKind::loop) {
    mode.iterations = *flags.iterations;
  } else if (flags.iterations) {
    mode.max_iterations = *flags.iterations;
    mode.min_iterations = std::min(mode.min_iterations, mode.max_iterations);
  }
  if (flags.flush) mode.flush = *flags.flush;
  return mode;
}

void shorten_for_cpu(Mode& mode, const ModeFlags& flags) {
  constexpr double kCpuSeconds = 0.2;
  if (flags.mode.empty() && !flags.seconds) mode.seconds = std::min(mode.seconds, kCpuSeconds);
}

Words device_words() {
  Words words = {"host", "cuda", "hip"};
  for (const std::string& platform : sim::platform_names()) words.push_back("sim:" + platform);
  return words;
}

void add_device_flags(CLI::App& app, DeviceFlags& flags, const std::string& default_text) {
  app.add_option(
         "--device", flags.devices,
         "Devices to use; may be given several times: host, host:4 (the CPU's cores as four "
         "devices), cuda, cuda:0,1, cuda:0:2 (two ranks that share GPU 0), hip, "
         "sim:h200:devices=4 (alias sim:h200-4), "
         "sim:FILE.toml; sim with :nodes=N (and :rails=round-robin) is a cluster; default: " +
             default_text)
      ->type_name("DEVICE")
      ->allow_extra_args(false)  // the next argument belongs to the command, not to this flag
      ->take_all();
  offer(app, "--device", device_words);
}

std::vector<std::string> device_names(const DeviceFlags& flags) {
  std::vector<std::string> names;
  for (const std::string& given : flags.devices) {
    std::string name;
    for (const std::string& part : split(given, ',')) {
      const bool starts = part.empty() || std::isalpha(static_cast<unsigned char>(part[0])) != 0;
      if (starts && !name.empty()) names.push_back(std::exchange(name, ""));
      name += (name.empty() ? "" : ",") + part;
    }
    names.push_back(name);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::count(names.begin(), names.end(), names[i]) > 1) {
      throw UsageError("--device " + names[i] + " is given twice: expected different devices");
    }
  }
  return names;
}

std::vector<std::unique_ptr<Machine>> open_machines(const std::vector<std::string>& devices) {
  std::vector<std::unique_ptr<Machine>> machines;
  for (const std::string& device : devices) machines.push_back(open_machine(device));
  return machines;
}

std::vector<std::unique_ptr<Machine>> open_machines(const DeviceFlags& flags,
                                                    const std::string& otherwise) {
  const std::vector<std::string> names = device_names(flags);
  return open_machines(names.empty() ? std::vector<std::string>{otherwise} : names);
}

}  // namespace duet
