// The numbers of a column's wires, which the immediate values of their writes have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace duet {

// What one rank brings to the choice of the next number.
struct WireNumbers {
  std::uint32_t next = 0;             // the first that may be chosen
  std::vector<std::uint32_t> in_use;  // by wires of this rank

  std::string text() const;
};

// The same on all ranks of the column, by text() of all of them: a number that no wire of any rank
// has, since wires of one plan may end at different times. Numbers are given in rotation, so that
// one is used again as late as possible. nullopt where all `count` numbers are in use.
std::optional<std::uint32_t> choose_wire_number(const std::vector<std::string>& texts,
                                                std::uint32_t count);

}  // namespace duet
