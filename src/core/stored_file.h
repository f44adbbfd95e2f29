// A small file of the user's, read and replaced as a whole: what Duet has measured and remembers.
#pragma once

#include <optional>
#include <string>

namespace duet {

class StoredFile {
 public:
  // `what` and `variable` are for messages: "tuning file", and the environment's word for its path.
  // A path of "" is no place: nothing is there, and nothing can be written.
  StoredFile(std::string path, std::string what, std::string variable);

  // The path that the variable names, else $XDG_CONFIG_HOME/duet/`name`, else
  // ~/.config/duet/`name`; "" where the environment says none of them.
  static std::string usual_path(const std::string& variable, const std::string& name);

  // "tuning file /home/...", as messages begin.
  std::string source() const { return what_ + " " + path_; }

  // Its text; none where there is no such file. Throws UsageError where it cannot be read.
  std::optional<std::string> read() const;

  // Puts `text` in its place in one step; makes its folder. Throws UsageError where it cannot.
  void replace(const std::string& text) const;

  // Throws UsageError where replace() could not write; leaves the file as it is.
  void require_writable() const;

 private:
  std::string path_, what_, variable_;
};

}  // namespace duet
