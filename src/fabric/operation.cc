#include "fabric/operation.h"

#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<FabricOperation> kOperations[] = {{FabricOperation::send_recv, "send_recv"},
                                                       {FabricOperation::write, "write"},
                                                       {FabricOperation::write_imm, "write_imm"},
                                                       {FabricOperation::read, "read"},
                                                       {FabricOperation::all_to_all, "all_to_all"}};

constexpr NamedValue<RailMode> kRailModes[] = {{RailMode::single, "single"},
                                               {RailMode::split, "split"},
                                               {RailMode::round_robin, "round_robin"}};

constexpr NamedValue<RailIssue> kIssues[] = {{RailIssue::direct, "direct"},
                                             {RailIssue::blocking, "blocking"},
                                             {RailIssue::nonblocking, "nonblocking"}};

constexpr NamedValue<MemoryPath> kPaths[] = {
    {MemoryPath::direct, "direct"}, {MemoryPath::ipc, "ipc"}, {MemoryPath::staged, "staged"}};

}  // namespace

std::string_view name(FabricOperation operation) { return name_of(kOperations, operation); }
std::string_view name(RailMode mode) { return name_of(kRailModes, mode); }
std::string_view name(RailIssue issue) { return name_of(kIssues, issue); }
std::string_view name(MemoryPath path) { return name_of(kPaths, path); }

FabricOperation parse_fabric_operation(std::string_view text) {
  return parse_name(kOperations, "unknown operation", text);
}

RailMode parse_rail_mode(std::string_view text) {
  return parse_name(kRailModes, "--rail-mode: unknown mode", text);
}

RailIssue parse_rail_issue(std::string_view text) {
  return parse_name(kIssues, "--issue: unknown way", text);
}

MemoryPath parse_memory_path(std::string_view text) {
  for (const MemoryPath path : values_in(kPaths)) {
    if (name(path) == text) return path;
  }
  std::vector<std::string_view> known = names_in(kPaths);
  known.insert(known.begin(), "auto");  // which the command line takes by itself
  throw_unknown_name("--memory-path: unknown path", text, known);
}

std::vector<FabricOperation> fabric_operations(int processes) {
  std::vector<FabricOperation> list;
  for (const FabricOperation each : values_in(kOperations)) {
    if (processes == 2 || each == FabricOperation::all_to_all) list.push_back(each);
  }
  return list;
}

}  // namespace duet
