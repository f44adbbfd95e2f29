#include "collectives/nodes/wire_numbers.h"

#include <set>

#include "core/packing.h"

namespace duet {

std::string WireNumbers::text() const {
  std::vector<std::string> numbers{std::to_string(next)};
  for (const std::uint32_t number : in_use) numbers.push_back(std::to_string(number));
  return pack(numbers);
}

std::optional<std::uint32_t> choose_wire_number(const std::vector<std::string>& texts,
                                                std::uint32_t count) {
  std::set<unsigned long> in_use;
  for (const std::string& text : texts) {
    const std::vector<std::string> numbers = unpack(text);
    for (std::size_t i = 1; i < numbers.size(); ++i) in_use.insert(std::stoul(numbers[i]));
  }
  const auto first = static_cast<std::uint32_t>(std::stoul(unpack(texts.front()).front()));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t number = (first + i) % count;
    if (in_use.count(number) == 0) return number;
  }
  return std::nullopt;
}

}  // namespace duet
