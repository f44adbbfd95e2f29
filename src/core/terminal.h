// Standard output and standard error as a terminal sees them: what Duet writes to them is plain
// text, but for the colours and movements of the cursor that it asks for itself.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace duet {

// Puts plain_text() before a stream for as long as it lives.
class PlainStream : public std::streambuf {
 public:
  explicit PlainStream(std::ostream& stream);
  ~PlainStream() override;
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

  // As it is.
  void command(std::string_view text);

 protected:
  int_type overflow(int_type byte) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override;

 private:
  bool pass_on(std::string_view text);

  std::ostream& stream_;
  std::streambuf* behind_;
  std::string unfinished_;  // the first bytes of a character
};

// What a terminal is to do, not to show.
void command_terminal(std::ostream& out, std::string_view text);

// Text in a colour or weight as terminals number them ("31"); "": as it is.
struct Painted {
  std::string code;
  std::string text;
};
std::ostream& operator<<(std::ostream& out, const Painted& painted);

// Is there a terminal behind the descriptor that knows colours, or moves its cursor? TERM=dumb has
// neither, and with NO_COLOR set nothing is coloured.
bool has_colours(int descriptor);
bool has_cursor(int descriptor);

}  // namespace duet
