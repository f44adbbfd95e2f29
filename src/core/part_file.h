#pragma once

#include <unistd.h>

#include <string>
#include <string_view>

namespace duet {

// A temporary file beside the file that it will replace. A reader sees the old text or the new one,
// never a part of one, even if several processes write at the same time. Failures are reported by
// open() and by return values of false, with errno set.
class PartFile {
 public:
  // Creates a file in the folder of `target`. Its name has the process's id and random digits, so
  // that no other program can put a file or link there before. It gets the permissions of `target`,
  // if `target` exists.
  explicit PartFile(std::string target);
  // Removes the temporary file, unless put_in_place() was called.
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  bool open() const { return file_ >= 0; }
  // The temporary file's, which others may write to until put_in_place().
  const std::string& path() const { return path_; }
  bool write(std::string_view text);
  // Waits until what was written is on disk: after a power failure there is then the old file or
  // the new one.
  bool flush() { return open() && ::fsync(file_) == 0; }
  // Renames the temporary file to `target`, which replaces it atomically. Closes the file.
  bool put_in_place();

  // Removes temporary files in the folder of `target` whose processes have ended without removing
  // them: those that nobody has locked, and nobody has written for a minute.
  static void remove_abandoned(const std::string& target);

 private:
  std::string target_, path_;
  int file_ = -1;
};

// Replaces the contents of a file by `text`, atomically. To be used wherever a file is replaced.
// If `path` is a symbolic link, its target is replaced and the link stays. On failure returns false
// with errno set, and the old file is unchanged.
bool replace_file(const std::string& path, std::string_view text);

}  // namespace duet
