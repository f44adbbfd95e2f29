#include "core/toml_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "core/names.h"
#include "core/units.h"

namespace duet {
namespace {

std::string shown(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (const auto real = node.value_exact<double>()) return fmt::format("{}", *real);
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  std::string text = out.str();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The value of a number, if a double can hold it; nothing for truth values and texts.
std::optional<double> real(const toml::node& found) {
  return found.is_number() ? found.value<double>() : std::nullopt;
}

std::optional<double> bytes_of(const std::string& text) {
  try {
    return static_cast<double>(parse_bytes(text));
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

}  // namespace

toml::table TomlTable::parse(const std::string& file, std::string_view text) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    std::string what(error.description());
    std::replace(what.begin(), what.end(), '\n', ' ');
    throw UsageError(
        fmt::format("{}:{}: expected TOML: {}", file, error.source().begin.line, what));
  }
}

void TomlTable::fail(const std::string& key, const std::string& expected) const {
  const toml::node* found = table_.get(key);
  if (found == nullptr) {
    throw UsageError(
        fmt::format("{}: '{}{}' is missing: expected {}", file_, path_, key, expected));
  }
  const toml::source_region& source = found->source();
  const bool own = source.path == nullptr || *source.path == file_;
  throw UsageError(fmt::format("{}: '{}{}' is {}: expected {}",
                               own ? fmt::format("{}:{}", file_, source.begin.line) : *source.path,
                               path_, key, shown(*found), expected));
}

const toml::node& TomlTable::node(const char* key, const char* expected) {
  asked_.push_back(key);
  const toml::node* found = table_.get(key);
  if (found == nullptr) fail(key, expected);
  return *found;
}

TomlTable TomlTable::table(const char* key) {
  const toml::table* found = node(key, "a table").as_table();
  if (found == nullptr) fail(key, "a table");
  return {file_, path_ + key + ".", *found};
}

std::vector<TomlTable> TomlTable::tables(const char* key) {
  std::vector<TomlTable> found;
  asked_.push_back(key);
  if (!has(key)) return found;
  const toml::array* array = table_.get(key)->as_array();
  if (array == nullptr || !array->is_homogeneous(toml::node_type::table)) {
    fail(key, fmt::format("tables headed [[{}]]", key));
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    found.emplace_back(file_, fmt::format("{}{}[{}].", path_, key, i), *(*array)[i].as_table());
  }
  return found;
}

std::string TomlTable::text(const char* key) {
  const char* expected = "a text in quotes";
  const auto value = node(key, expected).value_exact<std::string>();
  if (!value || value->empty()) fail(key, expected);
  return *value;
}

std::vector<std::string> TomlTable::texts(const char* key) {
  const char* expected = "a list of texts in quotes";
  const toml::array* array = node(key, expected).as_array();
  if (array == nullptr || array->empty()) fail(key, expected);
  std::vector<std::string> values;
  for (const toml::node& one : *array) {
    const auto value = one.value_exact<std::string>();
    if (!value || value->empty()) fail(key, expected);
    values.push_back(*value);
  }
  return values;
}

bool TomlTable::truth(const char* key) {
  const auto value = node(key, "true or false").value_exact<bool>();
  if (!value) fail(key, "true or false");
  return *value;
}

std::string TomlTable::word(const char* key, const std::vector<std::string>& allowed) {
  std::string list;
  for (const std::string& one : allowed) list += (list.empty() ? "\"" : " or \"") + one + "\"";
  const auto value = node(key, list.c_str()).value_exact<std::string>();
  if (!value || std::find(allowed.begin(), allowed.end(), *value) == allowed.end()) {
    fail(key, list);
  }
  return *value;
}

double TomlTable::number(const char* key, const Range& range) {
  const std::string expected = range.text();
  const toml::node& found = node(key, expected.c_str());
  const auto value = real(found);
  if (!value || !range.has(*value)) fail(key, expected);
  return *value;
}

std::vector<double> TomlTable::numbers(const char* key, const Range& range) {
  const std::string expected = "a list, each " + range.text();
  const toml::array* array = node(key, expected.c_str()).as_array();
  if (array == nullptr || array->empty()) fail(key, expected);
  std::vector<double> values;
  for (const toml::node& one : *array) {
    const auto value = real(one);
    if (!value || !range.has(*value)) fail(key, expected);
    values.push_back(*value);
  }
  return values;
}

double TomlTable::bytes(const char* key, double unit_bytes, const Range& range) {
  const std::string expected = range.text() + ", or a text as \"384M\"";
  const toml::node& found = node(key, expected.c_str());
  std::optional<double> bytes;
  if (const auto text = found.value_exact<std::string>()) {
    bytes = bytes_of(*text);
  } else if (const auto value = real(found)) {
    bytes = *value * unit_bytes;
  }
  if (!bytes || !range.has(*bytes / unit_bytes)) fail(key, expected);
  return *bytes;
}

int TomlTable::count(const char* key, int least, int most) {
  const std::string expected = fmt::format("a whole number from {} to {}", least, most);
  const auto value = node(key, expected.c_str()).value_exact<std::int64_t>();
  if (!value || *value < least || *value > most) fail(key, expected);
  return static_cast<int>(*value);
}

std::pair<int, int> TomlTable::pair(const char* key, int most) {
  const std::string expected =
      fmt::format("two whole numbers from 1 to {}, as in [256, 128]", most);
  const toml::array* array = node(key, expected.c_str()).as_array();
  if (array == nullptr || array->size() != 2) fail(key, expected);
  int values[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto value = (*array)[i].value_exact<std::int64_t>();
    if (!value || *value < 1 || *value > most) fail(key, expected);
    values[i] = static_cast<int>(*value);
  }
  return {values[0], values[1]};
}

std::optional<std::uint64_t> TomlTable::size_or_never(const char* key) {
  const std::string size = text(key);
  if (size == "never") return std::nullopt;
  try {
    return parse_bytes(size);
  } catch (const UsageError&) {
    fail(key, "a size such as \"256M\" or \"never\"");
  }
}

std::map<DType, double> TomlTable::by_dtype(const Range& range, double scale) {
  std::map<DType, double> figures;
  for (DType type : all_dtypes()) {
    const std::string key(name(type));
    if (has(key.c_str())) figures[type] = scale * number(key.c_str(), range);
  }
  std::string known;
  for (DType type : all_dtypes()) known += (known.empty() ? "" : ", ") + std::string(name(type));
  for (const auto& [key, value] : table_) {
    const std::string given(key.str());
    if (std::find(asked_.begin(), asked_.end(), given) == asked_.end()) {
      fail(given, "its key to be one of " + known);
    }
  }
  return figures;
}

std::vector<std::string> TomlTable::keys() const {
  std::vector<std::string> all;
  for (const auto& [key, value] : table_) all.emplace_back(key.str());
  return all;
}

void TomlTable::finish() const {
  for (const auto& [key, value] : table_) {
    const std::string name(key.str());
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    std::string known;
    for (const std::string& one : asked_) known += (known.empty() ? "" : ", ") + one;
    throw UsageError(fmt::format("{}:{}: unknown key '{}{}'{}: expected one of {}", file_,
                                 key.source().begin.line, path_, name, did_you_mean(name, asked_),
                                 known));
  }
}

}  // namespace duet
