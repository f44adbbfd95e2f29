#include "core/part_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace duet {
namespace {

constexpr int kTries = 100;
constexpr const char* kBeginning = ".duet-";
constexpr const char* kEnding = ".part";

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

std::string new_name(const std::string& folder) {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) return "";
  return fmt::format("{}{}{}-{:016x}{}", folder, kBeginning, ::getpid(), bits, kEnding);
}

bool is_part_file(const std::string& name) {
  const std::string beginning = kBeginning, ending = kEnding;
  return name.size() > beginning.size() + ending.size() && name.rfind(beginning, 0) == 0 &&
         name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}

// Removes a file that its process does not write any more. The lock is kept meanwhile, so that
// PartFile::create() sees that it has lost the file.
void remove_if_unlocked(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return;
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  ::close(file);
}

// A regular file or none. Otherwise sets errno.
bool may_be_replaced(const std::string& target) {
  struct stat facts {};
  if (::stat(target.c_str(), &facts) != 0) return errno == ENOENT;
  if (S_ISREG(facts.st_mode)) return true;
  errno = S_ISDIR(facts.st_mode) ? EISDIR : EEXIST;
  return false;
}

}  // namespace

PartFile::PartFile(std::string target) : target_(std::move(target)) {
  if (!may_be_replaced(target_)) return;
  for (int i = 0; i < kTries && !create(); ++i) {
  }
  struct stat old {};
  if (file_ < 0 || ::stat(target_.c_str(), &old) != 0) return;
  const int owned = ::geteuid() == 0 ? ::fchown(file_, old.st_uid, old.st_gid) : 0;
  static_cast<void>(owned);  // a file system may have no owners
  ::fchmod(file_, old.st_mode & 0777);
}

bool PartFile::create() {
  path_ = new_name(folder_of(target_));
  const int file =
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) return errno != EEXIST;
  // Between both calls remove_abandoned() of another process may have found it.
  const bool taken = ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  struct stat facts {};
  const bool there = ::fstat(file, &facts) == 0 && facts.st_nlink > 0;
  if (!taken && there) file_ = file;
  if (file_ < 0) ::close(file);
  return file_ >= 0;
}

PartFile::~PartFile() {
  if (file_ < 0) return;
  const int reason = errno;
  ::close(file_);
  ::unlink(path_.c_str());
  errno = reason;
}

bool PartFile::write(std::string_view text) {
  if (!open()) return false;
  while (!text.empty()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool PartFile::put_in_place() {
  const int locked = ::dup(file_);  // until it has its name
  // Some file systems report only on close that a write failed.
  const bool done = ::close(std::exchange(file_, -1)) == 0 && may_be_replaced(target_) &&
                    ::rename(path_.c_str(), target_.c_str()) == 0;
  const int reason = errno;
  if (!done) ::unlink(path_.c_str());
  if (locked >= 0) ::close(locked);
  errno = reason;
  return done;
}

void PartFile::remove_abandoned(const std::string& target) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path folder = folder_of(target).empty() ? "." : folder_of(target);
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const fs::path& path = at->path();
    std::error_code ignored;
    if (!is_part_file(path.filename().string()) || !at->is_regular_file(ignored)) continue;
    remove_if_unlocked(path.string());
  }
}

ReplacedFile replaced_file(const std::string& path) {
  std::error_code failed;
  const std::string target = std::filesystem::weakly_canonical(path, failed).string();
  if (failed) return {path, failed.message()};
  struct stat facts {};
  if (::stat(target.c_str(), &facts) != 0) {
    return {target, errno == ENOENT ? "" : std::strerror(errno)};
  }
  if (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) return {target, "no regular file"};
  if (S_ISREG(facts.st_mode) && ::access(target.c_str(), W_OK) == 0) return {target, ""};
  return {target, std::strerror(S_ISREG(facts.st_mode) ? errno : EISDIR)};
}

std::string why_not_replaceable(const std::string& path) {
  const ReplacedFile replaced = replaced_file(path);
  if (!replaced.reason.empty()) return replaced.reason;
  return PartFile(replaced.target).open() ? "" : std::strerror(errno);
}

}  // namespace duet
