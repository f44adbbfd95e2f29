#include "results/environment.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "core/plain_text.h"
#include "results/host_facts.h"
#include "results/libraries.h"
#include "results/version.h"

extern "C" char** environ;

namespace duet {
namespace {

// The environment variables that change what is measured, or on which devices.
ByName<std::string> variables() {
  constexpr std::array<std::string_view, 14> kPrefixes = {
      "CUDA_", "CUBLAS", "NCCL_", "HIP_",    "ROCR_",     "HSA_", "RCCL_",
      "OMP_",  "KMP_",   "DNNL_", "ONEDNN_", "OPENBLAS_", "FI_",  "DUET_REDUCTIONS"};
  ByName<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    for (const std::string_view prefix : kPrefixes) {
      if (text.substr(0, prefix.size()) != prefix) continue;
      out.set(text.substr(0, equals), std::string(text.substr(equals + 1)));
    }
  }
  return out;
}

ByName<std::string> library_versions() {
  ByName<std::string> out;
  for (const LibraryState& library : libraries(LibrarySearch::loaded)) {
    if (library.found) out.set(library.name, library.version);
  }
  return out;
}

ByName<TelemetrySummary> telemetry(const std::vector<Machine*>& machines) {
  ByName<TelemetrySummary> out;
  for (Machine* machine : machines) {
    for (int i = 0; i < machine->size(); ++i) {
      Device& device = machine->device(i);
      if (const auto reading = device.telemetry()) {
        out.set(device.info().name, summary_of({*reading}));
      }
    }
  }
  return out;
}

// Quotes control characters for bash by their numbers, so that a terminal never receives them:
// $'\x1b[2J'.
std::string quoted_by_number(std::string_view text) {
  std::string quoted = "$'";
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~' && c != '\'' && c != '\\';
    quoted += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return quoted + "'";
}

}  // namespace

std::string quote_command(const std::vector<std::string>& arguments) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  std::string line;
  for (const std::string& argument : arguments) {
    line += line.empty() ? "" : " ";
    if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
      line += argument;
    } else if (one_line(argument) != argument) {
      line += quoted_by_number(argument);
    } else {
      line += '\'';
      for (const char c : argument) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
      line += '\'';
    }
  }
  return line;
}

// Above this number of devices only the first device's links are recorded: their number grows with
// the square of the devices, and they are alike.
constexpr int kMostLinked = 64;

MachineFacts facts_of(Machine& machine) {
  MachineFacts facts{machine.name(), machine.is_virtual(), {}, {}};
  for (int i = 0; i < machine.size(); ++i) {
    facts.devices.push_back(machine.device(i).info());
    if (i > 0 && machine.size() > kMostLinked) continue;
    for (int j = 0; j < machine.size(); ++j) {
      if (i != j) facts.links.push_back({i, j, machine.link(i, j)});
    }
  }
  return facts;
}

Environment make_environment(const std::vector<Machine*>& machines,
                             const EnvironmentOptions& options) {
  Environment environment;
  for (Machine* machine : machines) environment.machines.push_back(facts_of(*machine));
  for (std::size_t i = 0; i < options.names.size(); ++i) {
    environment.machines[i].name = options.names[i];
  }
  environment.processes = options.processes;
  if (options.reproducible) return environment;
  environment.run = RunFacts{version(),    revision(),          quote_command(options.command),
                             time_utc(),   host_facts(),        library_versions(),
                             variables(),  telemetry(machines), load_average(),
                             options.hosts};
  return environment;
}

RunEnd make_end(const LoadMeter* load) {
  RunEnd end{time_utc(), load_average()};
  const auto share = load != nullptr ? load->share() : std::nullopt;
  if (!share) return end;
  const HostLoad shares = host_load(*share);
  end.load.others = shares.others;
  end.load.steal = shares.steal;
  return end;
}

std::string time_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace duet
