// Text of files, arguments and other programs made harmless for a terminal, which takes control
// characters for commands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace duet {

// As it is, but for control characters other than newline and tab, marks that turn the direction of
// writing, and bytes that are no UTF-8: those as "\\u001b" and "\\xff".
std::string plain_text(std::string_view text);

// The same with newlines and tabs as "\\n" and "\\t": nothing in a message looks like another one.
std::string one_line(std::string_view text);

// How many bytes at the end of `text` begin a character of UTF-8 that is not whole yet.
std::size_t unfinished_bytes(std::string_view text);

}  // namespace duet
