#include "core/plain_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace duet {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

std::size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

Character next(std::string_view text) {
  // The smallest code that needs this many bytes.
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = length_of(first);
  if (bytes == 0 || bytes > text.size()) return {};
  char32_t code = bytes == 1 ? first : first & (0x7f >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!continues(text[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeast[bytes] || code > 0x10ffff || surrogate) return {};
  return {code, bytes};
}

bool harmless(char32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool turns = code == 0x61c || code == 0x200e || code == 0x200f ||
                     (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return !control && !turns;
}

std::string escaped(std::string_view text, bool lines) {
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const Character one = next(text.substr(at));
    if (one.bytes == 0) {
      plain += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at++]));
      continue;
    }
    const bool blank = one.code == '\n' || one.code == '\t';
    if (harmless(one.code) || (blank && lines)) {
      plain += text.substr(at, one.bytes);
    } else if (blank) {
      plain += one.code == '\n' ? "\\n" : "\\t";
    } else {
      plain += fmt::format("\\u{:04x}", static_cast<unsigned>(one.code));
    }
    at += one.bytes;
  }
  return plain;
}

}  // namespace

std::string plain_text(std::string_view text) { return escaped(text, true); }

std::string one_line(std::string_view text) { return escaped(text, false); }

std::size_t unfinished_bytes(std::string_view text) {
  const std::size_t most = std::min<std::size_t>(3, text.size());
  for (std::size_t back = 1; back <= most; ++back) {
    const char byte = text[text.size() - back];
    if (continues(byte)) continue;
    return length_of(static_cast<unsigned char>(byte)) > back ? back : 0;
  }
  return 0;
}

}  // namespace duet
