#include "cli/standard_output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "core/error.h"
#include "core/output_file.h"

namespace duet {
namespace {

constexpr std::size_t kBufferBytes = 1 << 14;

}  // namespace

StandardOutput::StandardOutput() : buffer_(kBufferBytes), before_(std::cout.rdbuf(this)) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  std::cout.exceptions(std::ios::badbit);  // otherwise the stream would swallow the Error
  std::cerr.tie(nullptr);                  // otherwise its message would flush and throw again
}

StandardOutput::~StandardOutput() {
  drop();
  std::cout.rdbuf(before_);
}

void StandardOutput::finish() { write_out(); }

void StandardOutput::drop() noexcept {
  std::cout.exceptions(std::ios::goodbit);
  try {
    write_out();
  } catch (const Error&) {
    // The program reports its earlier error.
  }
}

StandardOutput::int_type StandardOutput::overflow(int_type next) {
  write_out();
  if (!traits_type::eq_int_type(next, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(next);
    pbump(1);
  }
  return traits_type::not_eof(next);
}

int StandardOutput::sync() {
  write_out();
  return 0;
}

void StandardOutput::write_out() {
  const char* at = pbase();
  const char* const end = pptr();
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  while (at != end && !failed_) {
    const ssize_t written = ::write(STDOUT_FILENO, at, static_cast<std::size_t>(end - at));
    if (written < 0 && errno == EINTR) continue;
    failed_ = written < 0;
    if (failed_ && errno == EPIPE) throw ReaderGone();
    if (failed_)
      throw Error(std::string("standard output cannot be written: ") + std::strerror(errno));
    at += written;
  }
}

}  // namespace duet
