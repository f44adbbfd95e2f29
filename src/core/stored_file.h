#pragma once

#include <optional>
#include <string>

namespace duet {

// A small file in the user's configuration, read and replaced as a whole, in which Duet keeps what
// it has measured.
class StoredFile {
 public:
  // `what` ("tuning file") and `variable` (the environment variable for its path) are for messages.
  // With an empty path, read() finds no file and replace() throws.
  StoredFile(std::string path, std::string what, std::string variable);

  // The path in the environment variable, otherwise $XDG_CONFIG_HOME/duet/`name`, otherwise
  // ~/.config/duet/`name`; "" if the environment has none of them.
  static std::string usual_path(const std::string& variable, const std::string& name);

  // How messages name the file: "tuning file /home/...".
  std::string source() const { return what_ + " " + path_; }

  // The file's text; nothing if there is no such file. Throws UsageError if it cannot be read.
  std::optional<std::string> read() const;

  // Replaces the file's text atomically, and creates its folder. Throws UsageError on failure.
  void replace(const std::string& text) const;

  // Throws UsageError if replace() could not write, or if what it writes could not be read again,
  // as from a device. Creates the folder, and leaves the file alone.
  void require_writable() const;

 private:
  std::string path_, what_, variable_;
};

}  // namespace duet
