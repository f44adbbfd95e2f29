// Output files over POSIX descriptors; see output_file.h.
#include "results/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/error.h"
#include "core/part_file.h"

namespace duet {
namespace {

[[noreturn]] void refuse(const std::string& path) {
  throw UsageError(path + " cannot be written: " + std::strerror(errno));
}

// Opens for appending; `made` tells whether the file was not there before.
int open_for_append(const std::string& path, bool& made) {
  made = true;
  int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_CREAT | O_EXCL, 0666);
  if (file < 0 && errno == EEXIST) {
    made = false;
    file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  }
  if (file < 0) refuse(path);
  return file;
}

}  // namespace

OutputFile::OutputFile(std::string path, int file, bool made)
    : path_(std::move(path)), file_(file), made_(made) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), made_(other.made_) {}

OutputFile::~OutputFile() {
  if (file_ >= 0) ::close(file_);
}

OutputFile OutputFile::standard_output() {
  const int file = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (file < 0) refuse("standard output");
  return {"standard output", file, false};
}

OutputFile OutputFile::create(const std::string& path, const std::string& advice) {
  if (path == kStandardOutput) return standard_output();
  bool made = false;
  const int file = open_for_append(path, made);
  OutputFile output(path, file, made);
  struct stat facts {};
  if (::fstat(file, &facts) != 0) refuse(path);
  if (S_ISREG(facts.st_mode) && facts.st_size > 0) {
    throw UsageError(path + " exists: " + advice);
  }
  return output;
}

OutputFile OutputFile::continue_after(const std::string& path, std::uint64_t keep_bytes) {
  bool made = false;
  const int file = open_for_append(path, made);
  OutputFile output(path, file, made);
  struct stat facts {};
  const auto keep = static_cast<off_t>(keep_bytes);
  if (::fstat(file, &facts) != 0) refuse(path);
  if (S_ISREG(facts.st_mode) && facts.st_size > keep && ::ftruncate(file, keep) != 0) refuse(path);
  return output;
}

bool OutputFile::is_special(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) &&
         !std::filesystem::is_regular_file(path, ignored) &&
         !std::filesystem::is_directory(path, ignored);
}

void OutputFile::check_replaceable(const std::string& path, const std::string& head) {
  if (is_special(path)) return;  // it has nothing that could be lost
  std::ifstream file(path);
  std::error_code ignored;
  if (!file && std::filesystem::exists(path, ignored)) {
    throw UsageError(path + " exists and cannot be read: expected another name");
  }
  std::string start(head.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (file.gcount() > 0 && start != head) {
    throw UsageError(path + " exists and is not what would be written anew: expected another name");
  }
  if (!std::filesystem::exists(path, ignored)) {
    if (!PartFile(path).open()) refuse(path);
    return;
  }
  bool made = false;
  const int opened = open_for_append(path, made);
  OutputFile output(path, opened, made);
}

OutputFile OutputFile::replace(const std::string& path, const std::string& head) {
  check_replaceable(path, head);
  return continue_after(path, 0);
}

void OutputFile::replace_whole(const std::string& path, const std::string& head,
                               std::string_view text) {
  check_replaceable(path, head);
  if (is_special(path)) {
    continue_after(path, 0).write(text);
    return;
  }
  const std::filesystem::path target = std::filesystem::weakly_canonical(path);  // not a link to it
  PartFile file(target.string());
  if (!file.write(text) || !file.put_in_place()) {
    throw Error("writing " + path + " failed: " + std::strerror(errno));
  }
}

bool OutputFile::is(const OutputFile& other) const {
  struct stat mine {};
  struct stat theirs {};
  if (::fstat(file_, &mine) != 0 || ::fstat(other.file_, &theirs) != 0) return false;
  return S_ISREG(mine.st_mode) && mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
}

void OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error(path_ + " cannot be written: " + std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OutputFile::discard() noexcept {
  if (made_) ::unlink(path_.c_str());
}

}  // namespace duet
