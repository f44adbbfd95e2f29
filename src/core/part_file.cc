#include "core/part_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace duet {
namespace {

constexpr int kTries = 100;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

std::string new_name(const std::string& folder) {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) return "";
  return fmt::format("{}.duet-{}-{:016x}.part", folder, ::getpid(), bits);
}

}  // namespace

PartFile::PartFile(std::string target) : target_(std::move(target)) {
  for (int i = 0; i < kTries && file_ < 0; ++i) {
    path_ = new_name(folder_of(target_));
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST) return;
  }
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
  // Some file systems report only on close that a write failed.
  if (::close(std::exchange(file_, -1)) == 0 && ::rename(path_.c_str(), target_.c_str()) == 0) {
    return true;
  }
  const int reason = errno;
  ::unlink(path_.c_str());
  errno = reason;
  return false;
}

bool replace_file(const std::string& path, std::string_view text) {
  std::error_code ignored;
  PartFile file(std::filesystem::weakly_canonical(path, ignored).string());
  return file.write(text) && file.put_in_place();
}

}  // namespace duet
