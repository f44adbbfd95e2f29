// Sizes of models in files of [[model]] tables, and what bounds them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/names.h"
#include "core/toml_table.h"

namespace duet {

inline constexpr int kMostLayers = 1024;
inline constexpr int kMostHeads = 1024;
inline constexpr int kMostExperts = 1 << 16;
inline constexpr int kWidest = 1 << 17;       // of a block and of an FFN
inline constexpr int kMostTokens = 1 << 22;   // of a vocabulary, of a sequence
inline constexpr int kMostSequences = 65535;  // of a step
// Rows in memory of a head are a multiple: GEMMs with odd sides are slow.
inline constexpr std::int64_t kVocabularyRows = 128;

bool is_model_file(const std::string& name);              // ends with ".toml"
std::string text_of_model_file(const std::string& path);  // throws UsageError

// The models of a file, each by make(TomlTable).
template <typename Make>
auto read_configs(const std::string& file, std::string_view text, const Make& make) {
  const toml::table parsed = TomlTable::parse(file, text);
  TomlTable root(file, "", parsed);
  std::vector<decltype(make(root.tables("model").front()))> configs;
  for (TomlTable& each : root.tables("model")) configs.push_back(make(std::move(each)));
  root.finish();
  return configs;
}

// A known model by name, or the only model of the file `name`. Throws UsageError.
template <typename Config, typename Read>
Config find_config(const std::string& name, const std::vector<Config>& known, const Read& read) {
  if (is_model_file(name)) {
    const std::vector<Config> configs = read(name, text_of_model_file(name));
    if (configs.size() == 1) return configs.front();
    throw UsageError(fmt::format("{}: {} models: expected one [[model]]", name, configs.size()));
  }
  std::vector<std::string> names;
  for (const Config& each : known) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  throw UsageError(fmt::format("unknown model '{}'{}: expected one of {}, or a file NAME.toml",
                               name, did_you_mean(name, names), fmt::join(names, ", ")));
}

}  // namespace duet
