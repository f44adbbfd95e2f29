#pragma once

#include <streambuf>
#include <string>
#include <vector>

namespace duet {

// While this object exists, std::cout writes through it, so that a full disk or a closed pipe is an
// error. The first write that the system refuses throws Error, or ReaderGone, out of the output
// statement. Later writes do nothing.
class StandardOutput : public std::streambuf {
 public:
  StandardOutput();
  ~StandardOutput() override;
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  // Writes the rest of the buffer. Throws Error.
  void finish();
  // As finish(), but ignores errors: for a program that has failed already.
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
