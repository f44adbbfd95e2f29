// A list of byte strings as one byte string, the form in which processes exchange data. Lengths are
// in this machine's byte order: packed text must stay among processors of one byte order.
#pragma once

#include <string>
#include <vector>

namespace duet {

std::string pack(const std::vector<std::string>& items);

// The items of a text made by pack(). Throws Error if the text ends within an item.
std::vector<std::string> unpack(const std::string& packed);

}  // namespace duet
