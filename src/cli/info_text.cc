#include "cli/info_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "core/units.h"
#include "device/sim/platform.h"
#include "results/host_facts.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

constexpr const char* kIndent = "  ";

// A machine's memory is not a power of two: prints GiB with one decimal.
std::string gib(std::uint64_t bytes) {
  if (bytes == 0) return "";
  if (bytes < (1u << 30)) return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / 0x1p20);
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / 0x1p30);
}

std::string some(int number) { return number > 0 ? std::to_string(number) : ""; }

std::string link_name(const Link& link) {
  if (link.kind.empty() || link.kind == "none") return "-";
  return link.count > 1 ? fmt::format("{} x{}", link.kind, link.count) : link.kind;
}

std::string link_legend(const Link& link) {
  std::string text = link_name(link) + ":";
  if (link.gb_per_s > 0) text += fmt::format(" {} GB/s a direction,", format_rate(link.gb_per_s));
  return text + (link.peer_access ? " peer access" : " no peer access");
}

std::string links_text(Machine& machine) {
  if (machine.size() < 2) return "";
  std::vector<Column> columns = {{"from \\ to"}};
  std::vector<std::vector<std::string>> rows;
  std::set<std::string> legends;
  for (int i = 0; i < machine.size(); ++i) {
    columns.push_back({std::to_string(i), Align::right});
    rows.push_back({std::to_string(i)});
    for (int j = 0; j < machine.size(); ++j) {
      rows.back().push_back(i == j ? "" : link_name(machine.link(i, j)));
      if (i != j) legends.insert(link_legend(machine.link(i, j)));
    }
  }
  std::string text = std::string("\n") + kIndent + "Links\n" + table(columns, rows, kIndent);
  for (const std::string& legend : legends) text += kIndent + legend + "\n";
  return text;
}

// A table without the columns that are empty in all rows.
std::string table_of_some(const std::vector<Column>& columns,
                          const std::vector<std::vector<std::string>>& rows) {
  std::vector<Column> kept;
  std::vector<std::vector<std::string>> cells(rows.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    bool any = false;
    for (const auto& row : rows) any |= !row[i].empty();
    if (!any) continue;
    kept.push_back(columns[i]);
    for (std::size_t r = 0; r < rows.size(); ++r) cells[r].push_back(rows[r][i]);
  }
  return table(kept, cells, kIndent);
}

// Details that all devices of a machine share, once; the others by device.
std::string details_text(Machine& machine) {
  std::string text;
  for (int i = 0; i < machine.size(); ++i) {
    const DeviceInfo& info = machine.device(i).info();
    for (const auto& [key, value] : info.details) {
      const auto& first = machine.device(0).info().details;
      const auto same = first.find(key);
      if (i > 0 && same != first.end() && same->second == value) continue;
      text += fmt::format("{}{}{}: {}\n", kIndent, i > 0 ? info.name + " " : "", key, value);
    }
  }
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string host_text() {
  const HostFacts facts = host_facts();
  std::string text =
      fmt::format("Host {}\n{}{}, {} cores ({} threads) in {} {}, {}\n{}{}, {}\n", facts.host_name,
                  kIndent, facts.cpu_model, facts.cores, facts.threads, facts.sockets,
                  facts.sockets == 1 ? "socket" : "sockets", gib(facts.memory_bytes), kIndent,
                  facts.system, facts.kernel);
  for (const NumaNode& node : facts.numa) {
    text += fmt::format("{}NUMA node {}: {} cores\n", kIndent, node.index, node.cores);
  }
  return text;
}

std::string backends_text(const std::vector<BackendState>& states) {
  std::vector<std::vector<std::string>> rows;
  for (const BackendState& state : states) {
    const std::string state_text = state.available ? "yes" : "no";
    rows.push_back({state.kind, state_text, state.available ? state.description : state.reason});
  }
  return "Kinds of device\n" +
         table({{"kind"}, {"here"}, {"--device, or why not"}}, rows, kIndent) +
         fmt::format("{}simulated machines: sim:{}\n", kIndent,
                     fmt::join(sim::platform_names(), ", sim:"));
}

std::string machine_text(Machine& machine) {
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < machine.size(); ++i) {
    const DeviceInfo& info = machine.device(i).info();
    rows.push_back({std::to_string(i), info.name, info.model, info.bus,
                    info.numa_node < 0 ? "" : std::to_string(info.numa_node),
                    some(info.compute_units), gib(info.memory_bytes), gib(info.cache_bytes),
                    some(info.copy_engines)});
  }
  const std::vector<Column> columns = {{"#", Align::right},
                                       {"device"},
                                       {"model"},
                                       {"bus"},
                                       {"NUMA", Align::right},
                                       {"units", Align::right},
                                       {"memory", Align::right},
                                       {"cache", Align::right},
                                       {"copy engines", Align::right}};
  return fmt::format("Machine {}{}\n", machine.name(),
                     machine.is_virtual() ? " (simulated: times are virtual)" : "") +
         table_of_some(columns, rows) + details_text(machine) + links_text(machine);
}

std::string fabric_text(const FabricOverview& fabric) {
  if (!fabric.reason.empty()) return "Fabric\n" + (kIndent + fabric.reason) + "\n";
  std::vector<std::vector<std::string>> rows;
  for (const auto& provider : fabric.providers) {
    for (const RailInfo& rail : provider.rails) {
      rows.push_back({provider.name, rail.name, rail.address,
                      rail.gbit_per_s > 0 ? format_rate(rail.gbit_per_s) : "",
                      rail.numa_node < 0 ? "" : std::to_string(rail.numa_node)});
    }
  }
  const std::vector<Column> columns = {
      {"provider"}, {"rail"}, {"address"}, {"Gbit/s", Align::right}, {"NUMA", Align::right}};
  return fmt::format("Fabric by {}\n", fabric.library) + table_of_some(columns, rows);
}

std::string libraries_text(const std::vector<LibraryState>& states) {
  std::vector<std::vector<std::string>> rows;
  for (const LibraryState& state : states) {
    rows.push_back({state.name, state.found ? state.version : "no", state.purpose, state.reason});
  }
  const std::vector<Column> columns = {{"library"}, {"version"}, {"for"}, {"why not"}};
  return "Libraries\n" + table_of_some(columns, rows);
}

}  // namespace duet
