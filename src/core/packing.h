// A list of byte strings as one byte string: what processes tell each other is made of these.
#pragma once

#include <string>
#include <vector>

namespace duet {

std::string pack(const std::vector<std::string>& items);

// The items again. Throws Error where the text is not what pack() makes.
std::vector<std::string> unpack(const std::string& packed);

}  // namespace duet
