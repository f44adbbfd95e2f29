#include "results/environment.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/plain_text.h"
#include "results/host_facts.h"
#include "results/libraries.h"
#include "results/telemetry_summary.h"
#include "results/version.h"

extern "C" char** environ;

namespace duet {
namespace {

Record device_to_json(const DeviceInfo& info) {
  Record out = {{"name", info.name},
                {"kind", info.kind},
                {"model", info.model},
                {"bus", info.bus},
                {"numa_node", info.numa_node},
                {"compute_units", info.compute_units},
                {"memory_bytes", info.memory_bytes},
                {"cache_bytes", info.cache_bytes},
                {"copy_engines", info.copy_engines},
                {"priorities", info.priorities}};
  out["details"] = Record::object();
  for (const auto& [key, text] : info.details) out["details"][key] = text;
  return out;
}

Record link_to_json(int from, int to, const Link& link) {
  return {{"from", from},
          {"to", to},
          {"kind", link.kind},
          {"count", link.count},
          {"gb_per_s", link.gb_per_s},
          {"peer_access", link.peer_access}};
}

// The environment variables that change what is measured, or on which devices.
Record variables() {
  constexpr std::array<std::string_view, 14> kPrefixes = {
      "CUDA_", "CUBLAS", "NCCL_", "HIP_",    "ROCR_",     "HSA_", "RCCL_",
      "OMP_",  "KMP_",   "DNNL_", "ONEDNN_", "OPENBLAS_", "FI_",  "DUET_REDUCTIONS"};
  Record out = Record::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    for (const std::string_view prefix : kPrefixes) {
      if (text.substr(0, prefix.size()) != prefix) continue;
      out[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
  }
  return out;
}

Record libraries_to_json() {
  Record out = Record::object();
  for (const LibraryState& library : libraries(LibrarySearch::loaded)) {
    if (library.found) out[library.name] = library.version;
  }
  return out;
}

Record telemetry(const std::vector<Machine*>& machines) {
  Record out = Record::object();
  for (Machine* machine : machines) {
    for (int i = 0; i < machine->size(); ++i) {
      Device& device = machine->device(i);
      if (const auto reading = device.telemetry()) {
        out[device.info().name] = telemetry_to_json({*reading});
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

Record machine_to_json(Machine& machine) {
  Record out = {{"name", machine.name()}, {"virtual_time", machine.is_virtual()}};
  out["devices"] = Record::array();
  out["links"] = Record::array();
  for (int i = 0; i < machine.size(); ++i) {
    out["devices"].push_back(device_to_json(machine.device(i).info()));
    if (i > 0 && machine.size() > kMostLinked) continue;
    for (int j = 0; j < machine.size(); ++j) {
      if (i != j) out["links"].push_back(link_to_json(i, j, machine.link(i, j)));
    }
  }
  return out;
}

Record host_to_json() {
  const HostFacts facts = host_facts();
  Record numa = Record::array();
  for (const NumaNode& node : facts.numa) {
    numa.push_back({{"node", node.index}, {"cores", node.cores}});
  }
  return {{"name", facts.host_name},
          {"system", facts.system},
          {"kernel", facts.kernel},
          {"cpu", facts.cpu_model},
          {"sockets", facts.sockets},
          {"cores", facts.cores},
          {"threads", facts.threads},
          {"memory_bytes", facts.memory_bytes},
          {"numa", numa}};
}

Record make_environment(const std::vector<Machine*>& machines, const EnvironmentOptions& options) {
  Record record = {{"type", "environment"}, {"schema", kJournalSchema}};
  record["machines"] = Record::array();
  for (Machine* machine : machines) record["machines"].push_back(machine_to_json(*machine));
  for (std::size_t i = 0; i < options.names.size(); ++i) {
    record["machines"][i]["name"] = options.names[i];
  }
  if (options.processes > 1) record["processes"] = options.processes;
  if (options.reproducible) return record;
  record["run"] = {{"duet", version()},
                   {"revision", revision()},
                   {"command", quote_command(options.command)},
                   {"time_utc", time_utc()},
                   {"host", host_to_json()},
                   {"libraries", libraries_to_json()},
                   {"variables", variables()},
                   {"telemetry", telemetry(machines)},
                   {"load", load_average_to_json()}};
  return record;
}

Record make_end(const LoadMeter* load) {
  Record record = {{"type", "end"}, {"schema", kJournalSchema}, {"time_utc", time_utc()}};
  record["load"] = load_average_to_json();
  const auto share = load != nullptr ? load->share() : std::nullopt;
  if (share) record["load"].update(load_to_json(*share));
  return record;
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
