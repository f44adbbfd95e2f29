// Escapes text from files, arguments and other programs, so that its control characters cannot
// command a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace duet {

// Escapes control characters other than newline and tab, and marks that change the direction of
// writing, as "\\u001b"; and bytes that are not UTF-8, as "\\xff".
std::string plain_text(std::string_view text);

// Like plain_text(), but escapes newlines and tabs too ("\\n", "\\t"), so that a text inside a
// message cannot look like another message.
std::string one_line(std::string_view text);

// The number of bytes at the end of `text` that begin an incomplete UTF-8 character.
std::size_t unfinished_bytes(std::string_view text);

}  // namespace duet
