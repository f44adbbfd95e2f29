#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "core/names.h"
#include "core/toml_table.h"
#include "device/sim/platform.h"
#include "device/sim/platform_composition.h"

namespace duet::sim {
namespace {

// A second name of a built-in platform, with a number of devices.
struct Alias {
  std::string name;      // "h200-4"
  std::string platform;  // "h200"
  int devices = 0;
};

const std::vector<Alias>& aliases() {
  static const std::vector<Alias> all = [] {
    std::vector<Alias> list;
    for (const auto& [platform, text] : built_in_platforms()) {
      const toml::table parsed = TomlTable::parse(platform, text);
      const toml::table* named = parsed["aliases"].as_table();
      if (named == nullptr) continue;
      for (const auto& [name, devices] : *named) {
        list.push_back({std::string(name.str()), platform, devices.value<int>().value_or(0)});
      }
    }
    return list;
  }();
  return all;
}

const Alias* find_alias(const std::string& name) {
  const auto found = std::find_if(aliases().begin(), aliases().end(),
                                  [&](const Alias& alias) { return alias.name == name; });
  return found == aliases().end() ? nullptr : &*found;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  file.peek();  // a folder can be opened and fails here
  if (!file.is_open() || file.bad()) {
    throw UsageError(fmt::format("{}: cannot be read: expected a platform's TOML file", path));
  }
  text << file.rdbuf();
  return text.str();
}

bool is_path(const std::string& name) {
  const std::string suffix = ".toml";
  const bool ends = name.size() >= suffix.size() &&
                    name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
  return ends || name.find('/') != std::string::npos;
}

struct NamedPlatform {
  std::string name;  // of the file
  std::string text;
  PlatformOptions options;
};

NamedPlatform find_platform(const std::string& name, PlatformOptions options) {
  if (is_path(name)) return {name, read_file(name), options};
  const auto& known = built_in_platforms();
  if (const auto found = known.find(name); found != known.end()) {
    return {name, std::string(found->second), options};
  }
  const Alias* alias = find_alias(name);
  if (alias == nullptr) {
    const std::string meant = meant_device(name);
    std::vector<std::string> names = platform_names();
    const std::string all = fmt::format("{}", fmt::join(names, ", "));
    std::reverse(names.begin(), names.end());  // of two equally near names, suggest the alias
    throw UsageError(fmt::format(
        "unknown platform '{}'{}: expected one of {}, or a file with its path or .toml", name,
        meant.empty() ? did_you_mean(name, names) : fmt::format(" (did you mean '{}'?)", meant),
        all));
  }
  if (options.devices > 0) {
    throw UsageError(
        fmt::format("--device sim:{0}: it has {1} devices: expected sim:{2}:devices={3}", name,
                    alias->devices, alias->platform, options.devices));
  }
  options.devices = alias->devices;
  return {alias->platform, std::string(known.at(alias->platform)), options};
}

}  // namespace

std::vector<std::string> platform_names() {
  std::vector<std::string> names;
  for (const auto& [platform, text] : built_in_platforms()) names.push_back(platform);
  for (const Alias& alias : aliases()) names.push_back(alias.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string meant_device(const std::string& name) {
  const std::size_t dash = std::min(name.rfind('-'), name.size());
  const std::string platform = name.substr(0, dash);
  const std::string devices = dash == name.size() ? "" : name.substr(dash + 1);
  if (find_alias(name) != nullptr || (devices.empty() && built_in_platforms().count(name) > 0)) {
    return "sim:" + name;
  }
  const bool number = !devices.empty() && devices.size() < 4 && devices[0] != '0' &&
                      devices.find_first_not_of("0123456789") == std::string::npos;
  if (!number || built_in_platforms().count(platform) == 0) return "";
  return fmt::format("sim:{}:devices={}", platform, devices);
}

Platform load_platform(const std::string& name, const PlatformOptions& options) {
  const NamedPlatform named = find_platform(name, options);
  Platform platform = parse_platform(named.name, named.text, named.options);
  const auto fits = [&](const Alias& alias) {
    return alias.platform == named.name && alias.devices == platform.node_devices;
  };
  const auto alias = std::find_if(aliases().begin(), aliases().end(), fits);
  if (alias != aliases().end()) {
    platform.name = alias->name;
  } else if (platform.node_devices != platform.file_devices) {
    platform.name += fmt::format(":devices={}", platform.node_devices);
  }
  return platform;
}

std::string platform_toml(const std::string& name, const PlatformOptions& options) {
  const NamedPlatform named = find_platform(name, options);
  const Platform platform = parse_platform(named.name, named.text, named.options);
  return self_contained(named.name, named.text, platform.node_devices);
}

}  // namespace duet::sim
