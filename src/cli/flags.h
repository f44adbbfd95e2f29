// The flags of all measuring commands. Parsing, --help and docs/cli.md use the same definition of a
// flag.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "device/machine.h"
#include "results/writers/writer.h"
#include "timing/mode.h"

namespace duet {

// A file that a flag names.
struct NamedFile {
  std::string flag, path;
};

struct OutputFlags {
  std::string json;
  std::string csv;
  bool quiet = false;
  bool verbose = false;
  bool resume = false;
  bool has_checkpoint = false;  // by which the command resumes also without a journal
  bool reproducible = false;
  bool check = false;
  bool list = false;
  bool nvtx = false;
  // Shows the figures in place of the usual tables; none: these.
  std::function<std::unique_ptr<Writer>(std::ostream&)> table;
  std::optional<std::string> report;   // "": a name derived from the journal's
  std::vector<NamedFile> other_files;  // that the command writes
};
void add_output_flags(CLI::App& app, OutputFlags& flags);

struct ModeFlags {
  std::string mode;
  std::optional<double> warm_up_seconds;
  std::optional<double> seconds;
  std::optional<int> iterations;
  std::optional<bool> flush;
};
void add_mode_flags(CLI::App& app, ModeFlags& flags);

// The mode that the flags name (adaptive if none), changed by their other values. Throws
// UsageError.
Mode mode_of(const ModeFlags& flags);
// Where neither --mode nor --seconds was given, shorter cases, so that all default ones of a
// command end within 30 s on a CPU.
void shorten_for_cpu(Mode& mode, const ModeFlags& flags);

struct EnergyFlags {
  bool energy = false;
  std::optional<double> seconds;
};
// `text`: what --energy measures.
void add_energy_flags(CLI::App& app, EnergyFlags& flags, const std::string& text);
// The time of a reading; 0: energy is not measured. Throws UsageError.
double energy_seconds_of(const EnergyFlags& flags);

struct DeviceFlags {
  std::vector<std::string> devices;
};
// What shells offer for --device.
std::vector<std::string> device_words();
void add_device_flags(CLI::App& app, DeviceFlags& flags, const std::string& default_text);

// Splits --device. A comma before a letter separates devices ("host,sim:mi300x-8"); any other comma
// belongs to a device ("cuda:0,1"). Throws UsageError if a device is given twice.
std::vector<std::string> device_names(const DeviceFlags& flags);

// Throw UsageError. `otherwise`: what is opened without --device.
std::vector<std::unique_ptr<Machine>> open_machines(const std::vector<std::string>& devices);
std::vector<std::unique_ptr<Machine>> open_machines(const DeviceFlags& flags,
                                                    const std::string& otherwise);

// Adds a pair of flags, `names` "--yes,!--no". `value` stays empty if neither is given, which flags
// of CLI11 do not support.
CLI::Option* add_yes_no(CLI::App& app, const std::string& names, std::optional<bool>& value,
                        const std::string& text);

// Refuses "", which would otherwise be taken for the default.
CLI::Validator not_empty();

// The longest time that a flag accepts: a day.
inline constexpr double kMostSeconds = 86400;

// Accepts numbers above 0 and up to `high`. For other values it throws UsageError with the limits
// and `unit` ("seconds").
CLI::Validator number_above_0(const std::string& flag, double high, const std::string& unit);
CLI::Validator seconds_above_0(const std::string& flag);

// Refuses flags that would have no effect: throws UsageError "--flag: `why`" for the first flag
// that is given. Each entry is a flag and whether it is given.
void refuse_given(const std::vector<std::pair<const char*, bool>>& flags, const std::string& why);

}  // namespace duet
