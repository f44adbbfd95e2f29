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
  // and for root its owner, if `target` exists. It is not opened if `target` is something else than
  // a regular file.
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
  // Renames the temporary file to `target`, which replaces it atomically. Closes the file. Takes
  // the place of a regular file or of none: of a device, pipe or folder it returns false.
  bool put_in_place();

  // Removes temporary files in the folder of `target` whose processes have ended without removing
  // them: those that nobody has locked. On a file system without locks all stay.
  static void remove_abandoned(const std::string& target);

 private:
  // Creates and locks a file of a new name. False: another name may do.
  bool create();

  std::string target_, path_;
  int file_ = -1;
};

// What a new file for `path` replaces: `target`, where its links lead, unless there is a reason
// against it ("Is a directory", "no regular file", "Permission denied").
struct ReplacedFile {
  std::string target;
  std::string reason;  // "": it may be replaced
};
ReplacedFile replaced_file(const std::string& path);

// Why replaced_file() or a new file in its folder would be refused; "": neither is.
std::string why_not_replaceable(const std::string& path);

}  // namespace duet
