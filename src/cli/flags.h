// The flags that every measuring command has. One definition of a flag gives its parsing, its line
// in --help and its line in docs/cli.md.
#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/machine.h"
#include "timing/mode.h"

namespace duet {

struct OutputFlags {
  std::string json;
  std::string csv;
  bool quiet = false;
  bool verbose = false;
  bool resume = false;
  bool reproducible = false;
  bool check = false;
  std::optional<std::string> report;  // "": named after the journal
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

// The mode that the flags name (adaptive if none) with their overrides. Throws UsageError.
Mode mode_of(const ModeFlags& flags);

struct DeviceFlags {
  std::vector<std::string> devices;
};
void add_device_flags(CLI::App& app, DeviceFlags& flags, const std::string& default_text);

// One text a device: a comma that a letter follows separates devices ("host,sim:mi300x-8"), any
// other belongs to a device ("cuda:0,1"). Throws UsageError if one is given twice.
std::vector<std::string> device_names(const DeviceFlags& flags);

// Throws UsageError.
std::vector<std::unique_ptr<Machine>> open_machines(const std::vector<std::string>& devices);

// "--yes,!--no": `value` stays empty where neither is given, which CLI11's own flags do not allow.
CLI::Option* add_yes_no(CLI::App& app, const std::string& names, std::optional<bool>& value,
                        const std::string& text);

// Refuses "": an empty list is no default.
CLI::Validator not_empty();

// Times in flags end here, at a day.
inline constexpr double kMostSeconds = 86400;

// Accepts numbers above 0 up to `high`, of `unit` ("seconds"); throws UsageError, with the limits,
// where the value of `flag` is another.
CLI::Validator number_above_0(const std::string& flag, double high, const std::string& unit);
CLI::Validator seconds_above_0(const std::string& flag);

// What of `names`, flags with whether they are given, is there without any effect: throws
// UsageError
// "--flag: `why`" for the first that is given.
void refuse_given(const std::vector<std::pair<const char*, bool>>& flags, const std::string& why);

}  // namespace duet
