// `duet nccl-env`: how a program starts with the drop-in for NCCL (docs/pytorch.md).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/flag_values.h"
#include "cli/lists.h"
#include "collectives/tuning/built_in_tuning.h"
#include "collectives/tuning/drop_in_tuning.h"
#include "collectives/tuning/tuning_file.h"
#include "core/error.h"
#include "core/module.h"
#include "core/names.h"
#include "core/units.h"
#include "device/machine.h"

namespace duet {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

constexpr int kMostDropInRanks = 8;
constexpr const char* kTuneCommand =
    "NCCL_NVLS_ENABLE=1 duet collective "
    "all_gather,all_to_all,broadcast,reduce_scatter,all_reduce,send_recv --device cuda --tune";

// By kDropInCalls: how variables of the drop-in end.
constexpr std::array<const char*, kDropInCalls.size()> kEndings = {
    "ALL_GATHER", "ALL_TO_ALL", "BROADCAST", "REDUCE_SCATTER", "ALL_REDUCE", "SEND_RECV"};

// `path` before what the variable holds here.
std::string before_own(const std::string& path, const char* variable) {
  const char* own = std::getenv(variable);
  return own == nullptr || *own == '\0' ? path : path + ":" + own;
}

std::string joined(const Variables& variables, const std::string& before,
                   const std::string& between) {
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) words.push_back(before + name + "=" + value);
  return fmt::format("{}", fmt::join(words, between));
}

using Lines = std::vector<std::string>;

// A way to start programs, and what it takes to hand variables on.
struct Launcher {
  const char* name;
  bool elsewhere;  // the program's files are not this machine's
  Lines (*lines)(const Variables& variables, const std::string& mounted);
};

Lines shell_lines(const Variables& variables, const std::string&) {
  return {"env " + joined(variables, "", " ")};
}

Lines srun_lines(const Variables& variables, const std::string&) {
  return {"srun --export=ALL," + joined(variables, "", ",")};
}

Lines mpirun_lines(const Variables& variables, const std::string&) {
  return {"mpirun " + joined(variables, "-x ", " ")};
}

Lines docker_lines(const Variables& variables, const std::string& mounted) {
  return {fmt::format("docker run -v {0}:{0}:ro {1}", mounted, joined(variables, "-e ", " "))};
}

// Arguments of the launcher's mpirun, as YAML. A worker's `env` does not reach what sshd starts.
Lines mpijob_lines(const Variables& variables, const std::string&) {
  Lines lines;
  for (const auto& [name, value] : variables) {
    lines.emplace_back("- -x");
    lines.push_back(fmt::format("- {}={}", name, value));
  }
  return lines;
}

constexpr std::array<Launcher, 6> kLaunchers = {{{"shell", false, shell_lines},
                                                 {"torchrun", false, shell_lines},
                                                 {"srun", false, srun_lines},
                                                 {"mpirun", false, mpirun_lines},
                                                 {"docker", true, docker_lines},
                                                 {"mpijob", true, mpijob_lines}}};

const Launcher& launcher_named(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Launcher& each : kLaunchers) {
    if (name == each.name) return each;
    known.emplace_back(each.name);
  }
  throw UsageError(fmt::format("--for: unknown '{}'{}: expected one of {}", name,
                               did_you_mean(name, known), fmt::join(known, ", ")));
}

// Throws UsageError for a value that would have to be quoted, or that the loader would take for a
// list of several.
void require_plain(const std::string& what, const std::string& value) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%~";
  const std::size_t odd = value.find_first_not_of(kPlain);
  if (odd == std::string::npos) return;
  throw UsageError(fmt::format("{} {}: expected letters, digits and /._-+@%~ only, not '{}'", what,
                               value, value[odd]));
}

// The thresholds beside NCCL that hold for so many GPUs.
struct FoundThresholds {
  std::string model;   // "": of no model
  std::string source;  // "tuning file", "shipped"; "": there are none
  DropInThresholds taken;
  std::string note;  // why there are none; else ""
};

using Entries = std::vector<TuningFile::Entry>;

// The entries for so many GPUs and, if it is not empty, this model that have NCCL's figures.
Entries entries_for(const TuningFile& file, int gpus, const std::string& model) {
  Entries found;
  for (const TuningFile::Entry& each : file.entries()) {
    if (each.setup.ranks != gpus || each.beside_nccl.empty()) continue;
    if (model.empty() || each.setup.device == model) found.push_back(each);
  }
  return found;
}

// The only model of the entries.
std::string model_of(const Entries& entries) {
  std::set<std::string> models;
  for (const TuningFile::Entry& each : entries) models.insert(each.setup.device);
  if (models.size() > 1) {
    throw UsageError(fmt::format("--model: expected one of {}", fmt::join(models, ", ")));
  }
  return *models.begin();
}

// Of entries of which no packets come.
std::string why_no_packets(const Entries& entries) {
  for (const TuningFile::Entry& entry : entries) {
    for (const CollectiveKind kind : kInPackets) {
      if (entry.beside_nccl.packets.count(kind) > 0) continue;
      return fmt::format(
          "no packets: the tuning file has no figures of small calls of {} for {}; "
          "to measure them: {}",
          name(kind), in_words(entry.setup), kTuneCommand);
    }
  }
  return "no packets: NCCL is faster at the smallest size";
}

// Of entries that are all of one model.
DropInThresholds measured_thresholds(const Entries& entries, bool packets) {
  std::vector<BesideNccl> measured;
  for (const TuningFile::Entry& each : entries) measured.push_back(each.beside_nccl);
  DropInThresholds found = drop_in_thresholds(measured, packets);
  found.models = {model_of(entries)};
  return found;
}

FoundThresholds thresholds_for(const TuningFile& file, int gpus, const std::string& model,
                               bool packets) {
  const Entries entries = entries_for(file, gpus, model);
  const auto shipped = built_in_drop_in(model, gpus);
  FoundThresholds found;
  found.model = model;
  if (!entries.empty()) {
    found.taken = measured_thresholds(entries, packets);
    found.model = found.taken.models.front();
    found.source = "tuning file";
    if (packets && found.taken.packets_to == 0) found.note = why_no_packets(entries);
  } else if (shipped) {
    found.taken = *shipped;
    if (!packets) found.taken.packets_to = 0;
    found.source = "shipped";
  } else {
    found.note = fmt::format(
        "no threshold is set, so every call is forwarded to NCCL: the tuning file has "
        "no figures of NCCL for {} x {}, and Duet ships none; to measure them: {}",
        gpus, model.empty() ? "NVIDIA GPU" : model, kTuneCommand);
    return found;
  }
  if (found.taken.take_nothing()) {
    found.note = fmt::format(
        "no threshold is set, so every call is forwarded to NCCL, which is the faster one on {} x "
        "{}",
        gpus, found.model);
  }
  return found;
}

void add_thresholds(Variables& variables, const DropInThresholds& taken) {
  if (taken.packets_to > 0) {
    variables.emplace_back("DUET_NCCL_PACKETS", short_bytes(taken.packets_to));
  }
  for (std::size_t i = 0; i < kDropInChunkCalls; ++i) {
    if (taken.kernel_to[i] == 0) continue;
    variables.emplace_back(fmt::format("DUET_NCCL_KERNEL_{}", kEndings[i]),
                           short_bytes(taken.kernel_to[i]));
  }
  for (std::size_t i = 0; i < kDropInCalls.size(); ++i) {
    if (!taken.copies_from[i]) continue;
    variables.emplace_back(fmt::format("DUET_NCCL_MIN_{}", kEndings[i]),
                           short_bytes(*taken.copies_from[i]));
  }
}

// What the tuning file has for so many GPUs, as a row of specs/tuning.
std::string row_of(const TuningFile& file, int gpus, const std::string& model,
                   const std::string& source) {
  if (source.empty() || source.find_first_of("\"\\\n") != std::string::npos) {
    throw UsageError("--row: expected the names of journals, without quotes");
  }
  const Entries entries = entries_for(file, gpus, model);
  if (entries.empty()) {
    throw UsageError(
        fmt::format("--row: expected figures beside NCCL of {} GPUs in the tuning file; "
                    "to measure them: {}",
                    gpus, kTuneCommand));
  }
  const DropInThresholds beside_nccl = measured_thresholds(entries, /*packets=*/true);
  Thresholds measured;  // in one process and in several the larger one
  for (const TuningFile::Entry& entry : entries) {
    for (const auto& [kind, bytes] : entry.thresholds.all()) {
      const bool known = measured.all().count(kind) > 0;
      measured.set(kind, std::max(bytes, known ? measured.dma_from(kind) : 0));
    }
  }
  Thresholds dma_from = measured;
  dma_from.complete_from(built_in_thresholds({"", gpus, false, beside_nccl.models.front(), false}));
  return tuning_row(gpus, source, dma_from, measured, beside_nccl);
}

class NcclEnvCommand : public Command {
 public:
  explicit NcclEnvCommand(CLI::App& root)
      : Command(root.add_subcommand(
            "nccl-env",
            "Print the variables to put before a command that uses NCCL, so that Duet's "
            "collectives take over the calls that they make faster (docs/pytorch.md)")) {
    add("--for", launcher_, "LAUNCHER",
        "Launcher of the program: shell, torchrun, srun, mpirun (Open MPI), docker, or mpijob "
        "(Kubernetes); default shell");
    add("--gpus", gpus_, "COUNT",
        "GPUs of a communicator, 2 to 8, for which thresholds are taken; default: all NVIDIA GPUs "
        "of this machine");
    add("--model", model_, "NAME",
        "Their model, as the driver names it; default: that of this machine's GPUs, else the "
        "only one that the tuning file has");
    add("--tuning", tuning_, "FILE", "The tuning file; default: that of duet collective --tune");
    add("--replace", real_, "FILE",
        "Replace NCCL's library by Duet's, for programs that open NCCL by its path; FILE: the real "
        "libnccl.so.2");
    no_packets_ =
        app_->add_flag("--no-packets",
                       "Leave small calls to NCCL, also where packets were measured to be "
                       "as fast");
    app_->add_flag("--json", json_, "Print all of it as JSON");
    add("--row", row_, "SOURCE",
        "Print instead what the tuning file has for these GPUs as a row of specs/tuning, to be "
        "shipped with Duet; SOURCE: the journals that it was measured in");
    offer(*app_, "--for", {"shell", "torchrun", "srun", "mpirun", "docker", "mpijob"});
  }

  int run(const std::vector<std::string>&) override {
    if (!row_.empty()) return print_row();
    const Launcher& launcher = launcher_named(launcher_.empty() ? "shell" : launcher_);
    const Variables library = library_variables(launcher);
    const std::string path = tuning_path();
    const int gpus = find_gpus();
    const FoundThresholds found =
        thresholds_for(TuningFile(path), gpus, model_, no_packets_->count() == 0);
    Variables variables = library;
    if (!found.taken.take_nothing()) {
      variables.emplace_back("DUET_NCCL_RANKS", std::to_string(gpus));
    } else if (!found.source.empty()) {  // or the drop-in would go by what it ships
      variables.emplace_back("DUET_NCCL_MODE", "off");
    }
    add_thresholds(variables, found.taken);
    const Lines lines = launcher.lines(variables, mounted());
    if (json_) {
      print_json(launcher, lines, variables, path, gpus, found);
    } else {
      std::cout << fmt::format("{}\n", fmt::join(lines, "\n"));
      if (!found.note.empty()) complain(found.note);
    }
    return 0;
  }

 private:
  std::string tuning_path() const {
    if (!tuning_.empty() && !std::filesystem::exists(tuning_)) {
      throw UsageError(fmt::format("--tuning {}: there is no such file", tuning_));
    }
    return tuning_.empty() ? TuningFile::usual_path() : tuning_;
  }

  int print_row() {
    const int gpus = find_gpus();
    std::cout << row_of(TuningFile(tuning_path()), gpus, model_, row_);
    return 0;
  }

  std::string own_library() const {
    const std::string name = real_.empty() ? "libduet-nccl.so" : "replacement/libnccl.so.2";
    const std::string path = own_file("nccl_shim", name);
    if (path.empty()) {
      throw UsageError(
          fmt::format("nccl-env: there is no {} beside libduet: it is built for "
                      "x86-64, and installed with duet",
                      name));
    }
    require_plain("the library's path", path);
    return path;
  }

  // The file or folder that a container must have at the same path.
  std::string mounted() const {
    return real_.empty() ? own_library()
                         : std::filesystem::path(own_library()).parent_path().string();
  }

  Variables library_variables(const Launcher& launcher) const {
    const char* variable = real_.empty() ? "LD_PRELOAD" : "LD_LIBRARY_PATH";
    const std::string path = launcher.elsewhere ? mounted() : before_own(mounted(), variable);
    for (const std::string& each : split(path, ':')) require_plain(variable, each);
    Variables variables = {{variable, path}};
    if (real_.empty()) return variables;
    if (real_.front() != '/') {
      throw UsageError(
          fmt::format("--replace {}: expected an absolute path of the real "
                      "libnccl.so.2",
                      real_));
    }
    require_plain("--replace", real_);
    if (!launcher.elsewhere && !std::filesystem::exists(real_)) {
      throw UsageError(fmt::format("--replace {}: there is no such file", real_));
    }
    variables.emplace_back("DUET_NCCL", real_);
    return variables;
  }

  // The number of GPUs. Without --model it also sets model_, where this machine has GPUs.
  int find_gpus() {
    if (!gpus_.empty() && !model_.empty()) return parsed_gpus();
    for (const BackendState& state : backends()) {
      if (state.machine == nullptr) continue;
      const DeviceInfo& device = state.machine->device(0).info();
      if (device.gpu_runtime != GpuRuntime::cuda) continue;
      if (model_.empty()) model_ = device.model;
      if (gpus_.empty()) gpus_ = std::to_string(state.machine->size());
    }
    if (gpus_.empty()) {
      throw UsageError("nccl-env: expected --gpus COUNT: this machine has no NVIDIA GPU");
    }
    return parsed_gpus();
  }

  int parsed_gpus() const { return parse_number(gpus_, 2, "--gpus", kMostDropInRanks); }

  static void print_json(const Launcher& launcher, const Lines& lines, const Variables& variables,
                         const std::string& path, int gpus, const FoundThresholds& found) {
    nlohmann::ordered_json json = {{"for", launcher.name}, {"lines", lines}};
    for (const auto& [name, value] : variables) json["variables"][name] = value;
    json["gpus"] = gpus;
    json["model"] = found.model;
    json["tuning_file"] = path;
    json["source"] = found.source;
    json["thresholds"] = json["kernel"] = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < kDropInCalls.size(); ++i) {
      const auto& from = found.taken.copies_from[i];
      if (from) json["thresholds"][kDropInCalls[i]] = *from;
    }
    for (std::size_t i = 0; i < kDropInChunkCalls; ++i) {
      const std::uint64_t to = found.taken.kernel_to[i];
      if (to > 0) json["kernel"][kDropInCalls[i]] = to;
    }
    json["packets"] = found.taken.packets_to;
    json["note"] = found.note;
    std::cout << json.dump(1) << '\n';
  }

  std::string launcher_, gpus_, model_, tuning_, real_, row_;
  CLI::Option* no_packets_ = nullptr;
  bool json_ = false;
};

}  // namespace

DUET_DEFINE_COMMAND(nccl_env, NcclEnvCommand)

}  // namespace duet
