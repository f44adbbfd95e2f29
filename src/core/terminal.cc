#include "core/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "core/plain_text.h"

namespace duet {

PlainStream::PlainStream(std::ostream& stream) : stream_(stream), behind_(stream.rdbuf(this)) {}

PlainStream::~PlainStream() {
  try {
    pass_on(std::exchange(unfinished_, ""));
  } catch (const std::exception&) {
    // The buffer behind has failed before, and its writer got that error.
  }
  stream_.rdbuf(behind_);
}

void PlainStream::command(std::string_view text) {
  pass_on(std::exchange(unfinished_, ""));
  behind_->sputn(text.data(), static_cast<std::streamsize>(text.size()));
}

PlainStream::int_type PlainStream::overflow(int_type byte) {
  if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
  const char one = traits_type::to_char_type(byte);
  return xsputn(&one, 1) == 1 ? byte : traits_type::eof();
}

std::streamsize PlainStream::xsputn(const char* text, std::streamsize count) {
  std::string all = std::exchange(unfinished_, "");
  all.append(text, static_cast<std::size_t>(count));
  const std::size_t whole = all.size() - unfinished_bytes(all);
  unfinished_ = all.substr(whole);
  return pass_on(std::string_view(all).substr(0, whole)) ? count : 0;
}

int PlainStream::sync() {
  const bool passed = pass_on(std::exchange(unfinished_, ""));
  return behind_->pubsync() == 0 && passed ? 0 : -1;
}

bool PlainStream::pass_on(std::string_view text) {
  const std::string plain = plain_text(text);
  const auto size = static_cast<std::streamsize>(plain.size());
  return behind_->sputn(plain.data(), size) == size;
}

void command_terminal(std::ostream& out, std::string_view text) {
  if (auto* plain = dynamic_cast<PlainStream*>(out.rdbuf())) {
    plain->command(text);
  } else {
    out << text;
  }
}

std::ostream& operator<<(std::ostream& out, const StyledText& styled) {
  if (styled.code.empty()) return out << styled.text;
  command_terminal(out, "\033[" + styled.code + "m");
  out << styled.text;
  command_terminal(out, "\033[0m");
  return out;
}

bool has_cursor(int descriptor) {
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

bool has_colours(int descriptor) {
  const char* none = std::getenv("NO_COLOR");
  return has_cursor(descriptor) && (none == nullptr || *none == 0);
}

std::size_t terminal_width(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace duet
