// Each item follows its length, 8 bytes in this machine's byte order.
#include "core/packing.h"

#include <cstdint>
#include <cstring>

#include "core/error.h"

namespace duet {

std::string pack(const std::vector<std::string>& items) {
  std::string packed;
  for (const std::string& item : items) {
    const std::uint64_t length = item.size();
    packed.append(reinterpret_cast<const char*>(&length), sizeof length);
    packed += item;
  }
  return packed;
}

std::vector<std::string> unpack(const std::string& packed) {
  std::vector<std::string> items;
  std::size_t at = 0;
  while (at < packed.size()) {
    std::uint64_t length = 0;
    if (packed.size() - at < sizeof length) throw Error("packed text ends within a length");
    std::memcpy(&length, packed.data() + at, sizeof length);
    at += sizeof length;
    if (packed.size() - at < length) throw Error("packed text ends within an item");
    items.push_back(packed.substr(at, length));
    at += length;
  }
  return items;
}

}  // namespace duet
