// Standard output, of which a full disk or a closed pipe is an error where it happens.
#pragma once

#include <streambuf>
#include <string>
#include <vector>

namespace duet {

// While it lives, std::cout writes through it. The first write that the system refuses throws Error
// out of whatever wrote; later ones do nothing.
class StandardOutput : public std::streambuf {
 public:
  StandardOutput();
  ~StandardOutput() override;
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  // Writes what is left. Throws Error.
  void finish();
  // The same of a program that fails already: says nothing.
  void drop() noexcept;

 protected:
  int_type overflow(int_type next) override;
  int sync() override;

 private:
  void write_out();

  std::vector<char> buffer_;
  std::streambuf* before_;
  bool failed_ = false;
};

}  // namespace duet
