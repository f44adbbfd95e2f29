#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/range.h"

namespace duet {

// Typed access to a table of a TOML file. Every accessor throws UsageError if its key is missing or
// has another type or range; finish() throws if keys are left. Messages name the file, the line,
// the key and what was expected. For a figure merged in from another file, they name that file.
class TomlTable {
 public:
  // Parses the text of `file`. Throws UsageError with the line of a syntax error.
  static toml::table parse(const std::string& file, std::string_view text);

  TomlTable(std::string file, std::string path, const toml::table& table)
      : file_(std::move(file)), path_(std::move(path)), table_(table) {}

  TomlTable table(const char* key);
  std::vector<TomlTable> tables(const char* key);   // [[key]]; empty if the key is missing
  std::string text(const char* key);                // not empty
  std::vector<std::string> texts(const char* key);  // at least one, none empty
  std::string word(const char* key, const std::vector<std::string>& allowed);  // one of `allowed`
  bool truth(const char* key);
  double number(const char* key, const Range& range);
  std::vector<double> numbers(const char* key, const Range& range);  // at least one
  int count(const char* key, int least, int most);
  std::pair<int, int> pair(const char* key, int most);  // two whole numbers from 1 to `most`
  // Bytes, given as a number in units of `unit_bytes` or as a text with a unit ("384M"). The range
  // is in units of `unit_bytes`.
  double bytes(const char* key, double unit_bytes, const Range& range);
  // A size as users type it ("256M"), or nothing for "never".
  std::optional<std::uint64_t> size_or_never(const char* key);
  // The figures of a table whose keys are element types, each times `scale`. Throws if another key
  // is left.
  std::map<DType, double> by_dtype(const Range& range, double scale);
  std::vector<std::string> keys() const;
  bool has(const char* key) const { return table_.contains(key); }

  // Throws if the table has a key that no accessor was called for.
  void finish() const;
  // Throws UsageError for the value of `key`: "FILE:LINE: 'KEY' is VALUE: expected ...".
  [[noreturn]] void fail(const std::string& key, const std::string& expected) const;

 private:
  const toml::node& node(const char* key, const char* expected);

  std::string file_;
  std::string path_;          // "device.gemm."; "" for the whole file
  const toml::table& table_;  // owned by the caller
  std::vector<std::string> asked_;
};

}  // namespace duet
