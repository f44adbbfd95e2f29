// A file that grows beside the one whose place it takes: who reads sees the old text or the new
// one, never a part of it, also where several write at the same time.
#pragma once

#include <string>
#include <string_view>

namespace duet {

// What fails says so by false, with errno set.
class PartFile {
 public:
  // Makes a file in the folder of `target`, by a name that has the process's id and that nobody
  // knows before, and through no link.
  // It has the permissions of `target`, where that is there.
  explicit PartFile(std::string target);
  // Removes it, unless it is in its place.
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  bool open() const { return file_ >= 0; }
  bool write(std::string_view text);
  // In one step.
  bool put_in_place();

 private:
  std::string target_, path_;
  int file_ = -1;
};

// The one way to replace a file: `text` takes its place in one step. A link stays one, and what it
// names is replaced. False, with errno set, leaves the old file as it was.
bool replace_file(const std::string& path, std::string_view text);

}  // namespace duet
