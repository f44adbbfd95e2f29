#include "core/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/part_file.h"
#include "core/standard_streams.h"

namespace duet {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw UsageError(path + " cannot be written: " + reason);
}
[[noreturn]] void refuse(const std::string& path) { refuse(path, std::strerror(errno)); }

constexpr std::chrono::milliseconds kReaderPeriod{50};
constexpr const char* kStandardOutput = "standard output";  // as messages name it
constexpr int kMostSymbolicLinks = 40;                      // that Linux follows

// Is `path`, or what its links lead to, an entry of a process's table of open files, as /dev/stderr
// and /dev/fd/63 are? What it names is the open file, of which another file cannot take the place.
bool names_open_file(std::filesystem::path path) {
  std::error_code failed;
  for (int links = 0; links < kMostSymbolicLinks; ++links) {
    path = std::filesystem::absolute(path, failed);
    const std::string folder = std::filesystem::weakly_canonical(path.parent_path(), failed);
    if (folder.rfind("/proc/", 0) == 0 && std::filesystem::path(folder).filename() == "fd") {
      return true;
    }
    if (!std::filesystem::is_symlink(path, failed)) return false;
    path = path.parent_path() / std::filesystem::read_symlink(path, failed);
  }
  return false;
}

bool is_fifo(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode);
}

// Opens an existing file. Returns -1 with ENXIO for a FIFO that nobody reads, without waiting.
int open_now(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
  if (file >= 0) ::fcntl(file, F_SETFL, O_APPEND);  // writes to a slow reader block from here on
  return file;
}

// Opens an existing file; waits for the reader of a FIFO.
int open_there(const std::string& path, const OutputFile::Stop& stop) {
  const auto deadline = steady_now() + kDefaultDeadlineSeconds;
  for (;;) {
    const int file = open_now(path);
    if (file >= 0 || errno != ENXIO || !is_fifo(path)) return file;
    if (stop && stop()) throw Interrupted();
    if (steady_now() > deadline) {
      throw UsageError(
          fmt::format("{} is a pipe that nobody has read for {:.0f} s: expected a reader", path,
                      kDefaultDeadlineSeconds));
    }
    std::this_thread::sleep_for(kReaderPeriod);
  }
}

// Opens for appending; sets `made` if this call created the file.
int open_for_append(const std::string& path, bool& made, const OutputFile::Stop& stop) {
  made = true;
  int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_CREAT | O_EXCL, 0666);
  if (file < 0 && errno == EEXIST) {
    made = false;
    file = open_there(path, stop);
  }
  if (file < 0) refuse(path);
  return file;
}

// The process that has locked the file, by /proc/locks: "1: FLOCK ADVISORY WRITE 4242 08:01:131 0
// EOF". 0 if it is not listed (it is on another host or in another container).
pid_t holder_of(const struct stat& facts) {
  const std::string place =
      fmt::format("{:02x}:{:02x}:{}", major(facts.st_dev), minor(facts.st_dev), facts.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, where;
    pid_t process = 0;
    if (!(words >> number >> kind >> advisory >> access >> process >> where)) continue;
    if (kind == "FLOCK" && where == place) return process;
  }
  return 0;
}

// Throws UsageError if another process holds the lock. On a file system without locks it does
// nothing.
void lock(int file, const std::string& path) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0) refuse(path);
  if (!S_ISREG(facts.st_mode) || ::flock(file, LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) return;
  const pid_t holder = holder_of(facts);
  if (holder == ::getpid()) {
    throw UsageError(path + " is an output of this run already: expected two files");
  }
  const std::string who =
      holder > 0 ? fmt::format("process {}", holder) : std::string("another process");
  throw UsageError(
      fmt::format("{} is in use by {}: expected another file, or that to end", path, who));
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
  if (was_closed(STDOUT_FILENO)) {
    throw UsageError("standard output is closed: expected the name of a file, or an open one");
  }
  const int file = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (file < 0) refuse(kStandardOutput);
  return {kStandardOutput, file, false};
}

bool names_standard_output(const std::string& path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

OutputFile OutputFile::open(const std::string& path, const Stop& stop) {
  if (names_standard_output(path)) return standard_output();
  bool made = false;
  const int file = open_for_append(path, made, stop);
  OutputFile output(path, file, made);
  lock(file, path);
  return output;
}

OutputFile OutputFile::create(const std::string& path, const std::string& advice,
                              const Stop& stop) {
  OutputFile output = open(path, stop);
  if (names_standard_output(path)) return output;
  struct stat facts {};
  if (::fstat(output.file_, &facts) != 0) refuse(path);
  if (S_ISREG(facts.st_mode) && facts.st_size > 0) {
    throw UsageError(path + " exists: " + advice);
  }
  return output;
}

void OutputFile::keep(std::uint64_t bytes) {
  struct stat facts {};
  const auto kept = static_cast<off_t>(bytes);
  if (::fstat(file_, &facts) != 0) refuse(path_);
  if (S_ISREG(facts.st_mode) && facts.st_size > kept && ::ftruncate(file_, kept) != 0) {
    refuse(path_);
  }
}

bool OutputFile::is_special(const std::string& path) {
  if (names_standard_output(path)) return true;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return false;
  const bool plain = std::filesystem::is_regular_file(path, ignored) ||
                     std::filesystem::is_directory(path, ignored);
  return !plain || names_open_file(path);
}

void OutputFile::check_replaceable(const std::string& path, const std::string& head) {
  if (is_special(path)) return;
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
  const std::string reason = why_not_replaceable(path);
  if (!reason.empty()) refuse(path, reason);
  if (std::filesystem::exists(path, ignored)) open(path);  // unless another run has it open
}

OutputFile OutputFile::replace(const std::string& path, const std::string& head, const Stop& stop) {
  check_replaceable(path, head);
  OutputFile output = open(path, stop);
  if (!is_special(path)) output.keep(0);
  return output;
}

void OutputFile::write_whole(const std::string& path, std::string_view text, const Stop& stop) {
  if (is_special(path)) return open(path, stop).write(text);
  const ReplacedFile replaced = replaced_file(path);
  if (!replaced.reason.empty()) refuse(path, replaced.reason);
  PartFile::remove_abandoned(replaced.target);
  PartFile file(replaced.target);
  if (!file.open()) refuse(path);
  if (!file.write(text) || !file.put_in_place()) {
    throw Error("writing " + path + " failed: " + std::strerror(errno));
  }
}

void OutputFile::replace_whole(const std::string& path, const std::string& head,
                               std::string_view text, const Stop& stop) {
  check_replaceable(path, head);
  write_whole(path, text, stop);
}

void OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE && path_ == kStandardOutput) throw ReaderGone();
    if (written < 0) throw Error(path_ + " cannot be written: " + std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OutputFile::discard() noexcept {
  if (made_) ::unlink(path_.c_str());
}

}  // namespace duet
