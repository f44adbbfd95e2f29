#include "fabric/operation.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "core/suggestion.h"

namespace duet {
namespace {

constexpr std::pair<FabricOperation, std::string_view> kOperations[] = {
    {FabricOperation::send_recv, "send_recv"},
    {FabricOperation::write, "write"},
    {FabricOperation::write_imm, "write_imm"},
    {FabricOperation::read, "read"},
    {FabricOperation::all_to_all, "all_to_all"}};

constexpr std::pair<RailMode, std::string_view> kRailModes[] = {
    {RailMode::single, "single"},
    {RailMode::split, "split"},
    {RailMode::round_robin, "round_robin"}};

constexpr std::pair<RailIssue, std::string_view> kIssues[] = {
    {RailIssue::direct, "direct"},
    {RailIssue::blocking, "blocking"},
    {RailIssue::nonblocking, "nonblocking"}};

constexpr std::pair<MemoryPath, std::string_view> kPaths[] = {
    {MemoryPath::direct, "direct"}, {MemoryPath::ipc, "ipc"}, {MemoryPath::staged, "staged"}};

}  // namespace

std::string_view name(FabricOperation operation) {
  for (const auto& [each, word] : kOperations) {
    if (each == operation) return word;
  }
  return "";
}

std::string_view name(RailMode mode) {
  for (const auto& [each, word] : kRailModes) {
    if (each == mode) return word;
  }
  return "";
}

std::string_view name(RailIssue issue) {
  for (const auto& [each, word] : kIssues) {
    if (each == issue) return word;
  }
  return "";
}

std::string_view name(MemoryPath path) {
  for (const auto& [each, word] : kPaths) {
    if (each == path) return word;
  }
  return "";
}

FabricOperation parse_fabric_operation(std::string_view text) {
  for (const auto& [each, word] : kOperations) {
    if (word == text) return each;
  }
  throw UsageError(fmt::format(
      "unknown operation '{}'{}: expected one of send_recv, write, write_imm, read, all_to_all",
      text, did_you_mean(text, {"send_recv", "write", "write_imm", "read", "all_to_all"})));
}

RailMode parse_rail_mode(std::string_view text) {
  for (const auto& [each, word] : kRailModes) {
    if (word == text) return each;
  }
  throw UsageError(
      fmt::format("--rail-mode: unknown mode '{}'{}: expected one of single, split, round_robin",
                  text, did_you_mean(text, {"single", "split", "round_robin"})));
}

RailIssue parse_rail_issue(std::string_view text) {
  for (const auto& [each, word] : kIssues) {
    if (word == text) return each;
  }
  throw UsageError(
      fmt::format("--issue: unknown way '{}'{}: expected one of direct, blocking, nonblocking",
                  text, did_you_mean(text, {"direct", "blocking", "nonblocking"})));
}

MemoryPath parse_memory_path(std::string_view text) {
  for (const auto& [each, word] : kPaths) {
    if (word == text) return each;
  }
  throw UsageError(
      fmt::format("--memory-path: unknown path '{}'{}: expected one of auto, direct, ipc, staged",
                  text, did_you_mean(text, {"auto", "direct", "ipc", "staged"})));
}

std::vector<FabricOperation> fabric_operations(int processes) {
  std::vector<FabricOperation> list;
  for (const auto& [each, word] : kOperations) {
    if (processes == 2 || each == FabricOperation::all_to_all) list.push_back(each);
  }
  return list;
}

}  // namespace duet
