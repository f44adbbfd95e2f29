// Typed access to a table of a TOML file that must be there, and nothing else in it. Errors name
// the file, the key and what was expected; of a figure that was merged in from elsewhere the name
// that it was parsed under.
#pragma once

#include <toml++/toml.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/range.h"

namespace duet {

class TomlTable {
 public:
  // Throws UsageError with the line of a syntax error.
  static toml::table parse(const std::string& file, std::string_view text);

  TomlTable(std::string file, std::string path, const toml::table& table)
      : file_(std::move(file)), path_(std::move(path)), table_(table) {}

  TomlTable table(const char* key);
  std::vector<TomlTable> tables(const char* key);  // [[key]]; empty if there is none
  std::string text(const char* key);
  std::vector<std::string> texts(const char* key);  // at least one
  std::string word(const char* key, const std::vector<std::string>& allowed);
  bool truth(const char* key);
  double number(const char* key, const Range& range);
  int count(const char* key, int least, int most);
  std::pair<int, int> pair(const char* key, int most);  // of whole numbers from 1
  // Bytes: a number of `unit_bytes` each, as the range has it, or a text with its unit as "384M".
  double bytes(const char* key, double unit_bytes, const Range& range);
  // One figure for each element type that the table names, times `scale`; checks that there is
  // nothing else.
  std::map<DType, double> by_dtype(const Range& range, double scale);
  std::vector<std::string> keys() const;
  bool has(const char* key) const { return table_.contains(key); }

  // Throws if the table has a key that nobody asked for.
  void finish() const;
  [[noreturn]] void fail(const std::string& key, const std::string& expected) const;

 private:
  const toml::node& node(const char* key, const char* expected);

  std::string file_;
  std::string path_;  // "device.gemm."; "" for the whole file
  const toml::table& table_;
  std::vector<std::string> asked_;
};

}  // namespace duet
