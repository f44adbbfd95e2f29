#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace duet {

// True for "-", and for the names that the system has for standard output ("/dev/stdout").
bool names_standard_output(const std::string& path);

// The ways in which Duet writes a file that a user names; each takes names_standard_output() too.
// None of them takes the place of anything but a regular file: a device, a pipe and an open file of
// a process (/dev/fd/3) are written to, a folder is refused.
//
// A file that is written bit by bit is an object. It never overwrites earlier measurements, and it
// passes each text to write() at once, so that a run which is killed leaves whole lines.
// Move-only; the destructor closes the file.
// A regular file is locked while it is open. Opening a file that another run (or this one, by
// another name) has open throws UsageError "FILE is in use by process N".
// Opening a FIFO waits until a program reads it. It throws Interrupted when `stop` returns true,
// and UsageError after a minute.
class OutputFile {
 public:
  using Stop = std::function<bool()>;

  // Opens a new or empty file, a pipe, a device or standard output. Throws UsageError if a file has
  // contents already (`advice` ends that message) or cannot be written.
  static OutputFile create(const std::string& path, const std::string& advice,
                           const Stop& stop = {});
  // Opens a file, created if missing, and locks it. write() appends to its contents. Standard
  // output that was closed when the program started is refused.
  static OutputFile open(const std::string& path, const Stop& stop = {});
  // Empties a file that begins with `head`, or creates it. Throws UsageError if the file has other
  // contents: `head` marks files that Duet wrote.
  static OutputFile replace(const std::string& path, const std::string& head,
                            const Stop& stop = {});
  // Of a text that is known as a whole: a regular file is replaced atomically, so that the old one
  // stays until the new one is complete. Of a link, the target is replaced. Throws UsageError if
  // the file cannot be written, and Error if writing fails.
  static void write_whole(const std::string& path, std::string_view text, const Stop& stop = {});
  // As write_whole(), but a file that has contents must begin with `head`; throws as replace().
  static void replace_whole(const std::string& path, const std::string& head, std::string_view text,
                            const Stop& stop = {});
  // True for standard output, a pipe, a device or an open file, which have no contents to lose.
  static bool is_special(const std::string& path);
  // Throws what replace_whole() would throw, and changes nothing.
  static void check_replaceable(const std::string& path, const std::string& head);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) = delete;
  ~OutputFile();

  // Cuts a regular file after its first `bytes`. Throws UsageError.
  void keep(std::uint64_t bytes);
  // Throws Error if the system refuses, or ReaderGone.
  void write(std::string_view text);
  // Removes the file if this object created it. For runs that end before they measure anything.
  void discard() noexcept;

 private:
  OutputFile(std::string path, int file, bool made);
  static OutputFile standard_output();
  std::string path_;
  int file_ = -1;
  bool made_ = false;
};

}  // namespace duet
