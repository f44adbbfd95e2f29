#include "core/part_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace duet {
namespace {

constexpr int kTries = 100;
constexpr const char* kBeginning = ".duet-";
constexpr const char* kEnding = ".part";
constexpr auto kAbandonedAfter = std::chrono::minutes(1);

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

// A file that its process still writes is locked. False where locks do not work.
bool is_unlocked(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  const bool locked = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  ::close(file);
  return locked;
}

}  // namespace

PartFile::PartFile(std::string target) : target_(std::move(target)) {
  for (int i = 0; i < kTries && file_ < 0; ++i) {
    path_ = new_name(folder_of(target_));
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST) return;
  }
  if (file_ >= 0) ::flock(file_, LOCK_EX | LOCK_NB);
  struct stat old {};
  if (file_ >= 0 && ::stat(target_.c_str(), &old) == 0) ::fchmod(file_, old.st_mode & 0777);
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
  const bool done =
      ::close(std::exchange(file_, -1)) == 0 && ::rename(path_.c_str(), target_.c_str()) == 0;
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
    const auto written = fs::last_write_time(path, ignored);
    if (ignored || fs::file_time_type::clock::now() - written < kAbandonedAfter) continue;
    if (is_unlocked(path.string())) fs::remove(path, ignored);
  }
}

bool replace_file(const std::string& path, std::string_view text) {
  std::error_code ignored;
  PartFile file(std::filesystem::weakly_canonical(path, ignored).string());
  return file.write(text) && file.put_in_place();
}

}  // namespace duet
