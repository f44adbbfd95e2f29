#include "core/stored_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/output_file.h"
#include "core/part_file.h"

namespace duet {
namespace {

std::string environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

}  // namespace

StoredFile::StoredFile(std::string path, std::string what, std::string variable)
    : path_(std::move(path)), what_(std::move(what)), variable_(std::move(variable)) {}

std::string StoredFile::usual_path(const std::string& variable, const std::string& name) {
  if (const std::string named = environment(variable); !named.empty()) return named;
  if (const std::string folder = environment("XDG_CONFIG_HOME"); !folder.empty()) {
    return folder + "/duet/" + name;
  }
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.config/duet/" + name;
}

std::optional<std::string> StoredFile::read() const {
  if (path_.empty()) return std::nullopt;
  std::error_code ignored;
  const auto type = std::filesystem::status(path_, ignored).type();
  if (type == std::filesystem::file_type::not_found) return std::nullopt;
  std::ifstream file(path_);
  if (!file.is_open() || type == std::filesystem::file_type::directory) {
    throw UsageError(source() + ": expected a file that can be read");
  }
  return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void StoredFile::replace(const std::string& text) const {
  require_writable();
  OutputFile::write_whole(path_, text);
}

void StoredFile::require_writable() const {
  if (path_.empty()) {
    throw UsageError(
        fmt::format("no place for the {}: expected {}, XDG_CONFIG_HOME or HOME", what_, variable_));
  }
  std::error_code failed;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path_, failed);
  std::filesystem::create_directories(target.parent_path(), failed);
  const std::string reason =
      OutputFile::is_special(path_) ? "it could not be read again" : why_not_replaceable(path_);
  if (reason.empty()) return;
  throw UsageError(
      fmt::format("{} cannot be written: {}; expected another in {}", source(), reason, variable_));
}

}  // namespace duet
