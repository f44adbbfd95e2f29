#include "fleet/names.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/error.h"
#include "core/toml_table.h"
#include "core/units.h"

namespace duet {
namespace {

constexpr std::size_t kMostNames = 1'000'000;

[[noreturn]] void refuse(const std::string& list) {
  throw UsageError(
      fmt::format("'{}' is no list of nodes: expected one like node1,node[03-16]", list));
}

void check_count(std::size_t count, const std::string& list) {
  if (count <= kMostNames) return;
  throw UsageError(fmt::format("'{}': expected at most {} names", list, kMostNames));
}

// "03-05" and "9" are numbers with as many digits as the first has.
std::vector<std::string> numbers_in(const std::string& range, const std::string& list) {
  const std::size_t dash = range.find('-');
  const std::string low = range.substr(0, dash);
  const std::string high = dash == std::string::npos ? low : range.substr(dash + 1);
  std::size_t first = 0, last = 0;
  for (const auto& [text, number] : {std::pair(&low, &first), std::pair(&high, &last)}) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
    if (error != std::errc() || end != text->data() + text->size()) refuse(list);
  }
  if (last < first) refuse(list);
  check_count(last - first, list);
  std::vector<std::string> numbers;
  for (std::size_t i = first; i <= last; ++i) {
    numbers.push_back(fmt::format("{:0{}}", i, low.size()));
  }
  return numbers;
}

// The parts between commas outside of brackets.
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts{""};
  int depth = 0;
  for (const char c : list) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (depth < 0 || depth > 1) refuse(list);
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (depth != 0) refuse(list);
  return parts;
}

// The names of a part; it may have several brackets.
std::vector<std::string> expanded(const std::string& part, const std::string& list) {
  const std::size_t open = part.find('[');
  if (open == std::string::npos) return {part};
  const std::size_t close = part.find(']', open);
  const std::vector<std::string> ends = expanded(part.substr(close + 1), list);
  std::vector<std::string> names;
  for (const std::string& range : parts_of(part.substr(open + 1, close - open - 1))) {
    for (const std::string& number : numbers_in(range, list)) {
      for (const std::string& end : ends) names.push_back(part.substr(0, open) + number + end);
      check_count(names.size(), list);
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> node_names(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string& part : parts_of(list)) {
    const std::string name = trim(part);
    if (name.empty()) refuse(list);
    for (std::string& each : expanded(name, list)) names.push_back(std::move(each));
    check_count(names.size(), list);
  }
  return names;
}

std::vector<std::string> node_names_of(const std::string& flag, const std::string& text) {
  try {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(text, ignored)) return node_names(text);
    std::vector<std::string> names;
    std::ifstream file(text);
    for (std::string line; std::getline(file, line);) {
      const std::string list = trim(line.substr(0, line.find('#')));
      if (list.empty()) continue;
      for (std::string& each : node_names(list)) names.push_back(std::move(each));
    }
    if (names.empty()) throw UsageError(fmt::format("{}: expected names of nodes", text));
    return names;
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", flag, error.what()));
  }
}

std::map<std::string, std::vector<std::string>> groups_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;
  if (!file || std::filesystem::is_directory(path, ignored)) {
    throw UsageError(fmt::format(
        "--groups {}: cannot be read: expected a TOML file with groups of nodes", path));
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const toml::table parsed = TomlTable::parse(path, text);
  TomlTable table(path, "", parsed);
  std::map<std::string, std::vector<std::string>> groups;
  std::map<std::string, std::string> group_of;
  for (const std::string& name : table.keys()) {
    for (const std::string& list : table.texts(name.c_str())) {
      for (std::string& node : node_names(list)) {
        const auto [before, fresh] = group_of.emplace(node, name);
        if (!fresh && before->second != name) {
          table.fail(name,
                     fmt::format("each node in one group; {} is in {} too", node, before->second));
        }
        groups[name].push_back(std::move(node));
      }
    }
  }
  if (groups.empty()) throw UsageError(fmt::format("{}: expected groups of nodes", path));
  return groups;
}

}  // namespace duet
