// Standard output and standard error of a terminal. All text is escaped by plain_text(), except for
// Duet's own colours and cursor movements.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace duet {

// While it lives, all text written to `stream` goes through plain_text(). Restores the stream's
// buffer when destroyed.
class PlainStream : public std::streambuf {
 public:
  explicit PlainStream(std::ostream& stream);
  ~PlainStream() override;
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

  // Writes `text` unescaped.
  void command(std::string_view text);

 protected:
  int_type overflow(int_type byte) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override;

 private:
  bool pass_on(std::string_view text);

  std::ostream& stream_;
  std::streambuf* behind_;
  std::string unfinished_;  // the first bytes of an incomplete UTF-8 character
};

// Writes a command to the terminal (a colour, a cursor movement), past a PlainStream on `out`.
void command_terminal(std::ostream& out, std::string_view text);

// Text in a colour or weight; `code` is the terminal's number for it ("31"), "" for plain text.
struct StyledText {
  std::string code;
  std::string text;
};
std::ostream& operator<<(std::ostream& out, const StyledText& painted);

// Whether the descriptor is a terminal with colours, and one with cursor movements. TERM=dumb has
// neither; NO_COLOR turns colours off.
bool has_colours(int descriptor);
bool has_cursor(int descriptor);

// Characters of a line; 0 if the descriptor is no terminal, or none that tells.
std::size_t terminal_width(int descriptor);

}  // namespace duet
