// A file that a run writes its results to: never over what somebody measured before, and each
// piece of text by one write(), so that whatever ends the run leaves whole lines.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace duet {

// Does a path stand for standard output ("-" or /dev/stdout)?
bool names_standard_output(const std::string& path);

// Move-only; closes the file. A regular file is locked while it is open: where another run writes
// it (or this one, by another name), opening throws UsageError "FILE is in use by process N". A
// FIFO is opened once somebody reads it: Interrupted where `stop` says so first, UsageError after a
// minute.
class OutputFile {
 public:
  using Stop = std::function<bool()>;

  // A new file. Throws UsageError if it has contents already or cannot be written; `advice` ends
  // the message in the first case. Pipes, devices and standard output are written to.
  static OutputFile create(const std::string& path, const std::string& advice,
                           const Stop& stop = {});
  // A file as it is, made if it is not there: nobody else writes it any more, and what this run
  // writes comes behind what it has.
  static OutputFile open(const std::string& path, const Stop& stop = {});
  // Writes anew over a file that begins with `head`, and makes it if it is not there. Throws
  // UsageError if it holds something else.
  static OutputFile replace(const std::string& path, const std::string& head,
                            const Stop& stop = {});
  // The same for a text that is there as a whole: the old file stays until the new one is complete.
  static void replace_whole(const std::string& path, const std::string& head, std::string_view text,
                            const Stop& stop = {});
  // A pipe or a device: nothing in it could be lost.
  static bool is_special(const std::string& path);
  // Throws what replace() would, and changes nothing.
  static void check_replaceable(const std::string& path, const std::string& head);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) = delete;
  ~OutputFile();

  // Drops what stands behind the first `bytes` of a regular file. Throws UsageError.
  void keep(std::uint64_t bytes);
  // Throws Error if the file system refuses.
  void write(std::string_view text);
  // Removes the file if this run made it: nothing has been measured.
  void discard() noexcept;

 private:
  OutputFile(std::string path, int file, bool made);
  static OutputFile standard_output();
  std::string path_;
  int file_ = -1;
  bool made_ = false;
};

}  // namespace duet
