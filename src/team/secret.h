#pragma once

#include <string>

namespace duet {

// DUET_TOKEN, else the text of the file that DUET_TOKEN_FILE names; "" where neither is set. Throws
// UsageError for one that is short, and for a file that others may read.
std::string find_secret();

// A new one, of 32 hexadecimal digits.
std::string make_secret();

// The HMAC-SHA256 of the text, in hexadecimal digits.
std::string proof_of(const std::string& secret, const std::string& text);

// Compares in constant time, so that the time does not show where they differ.
bool equal_proofs(const std::string& one, const std::string& other);

}  // namespace duet
