#include "core/stored_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/part_file.h"

namespace duet {
namespace {

std::string environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

[[noreturn]] void cannot_write(const std::string& source, const std::string& variable) {
  throw UsageError(fmt::format("{} cannot be written: {}; expected another in {}", source,
                               std::strerror(errno), variable));
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
  if (!replace_file(path_, text)) cannot_write(source(), variable_);
}

void StoredFile::require_writable() const {
  if (path_.empty()) {
    throw UsageError(
        fmt::format("no place for the {}: expected {}, XDG_CONFIG_HOME or HOME", what_, variable_));
  }
  std::error_code failed;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path_, failed);
  std::filesystem::create_directories(target.parent_path(), failed);
  errno = std::filesystem::is_directory(target) ? EISDIR : 0;
  if (errno != 0) cannot_write(source(), variable_);
  if (!PartFile(target.string()).open()) cannot_write(source(), variable_);
}

}  // namespace duet
