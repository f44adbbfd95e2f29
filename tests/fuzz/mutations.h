#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/random.h"
#include "results/record_json.h"

namespace duet {

// Random choices that depend on the seed alone, on every platform.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t word() { return random_word(seed_, next_++); }
  // 0 to count - 1; 0 if there is nothing to choose from.
  std::size_t below(std::size_t count) { return count == 0 ? 0 : word() % count; }
  template <typename List>
  const auto& one_of(const List& list) {
    return list[below(list.size())];
  }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

// Damages a journal's text at a random place, as disks, editors and other programs may. Inserted
// pieces come from `other`. The result is mostly not a valid journal.
void damage_text(std::string& text, const std::string& other, Dice& dice);

// Makes one change at a random place of the record. The result is JSON but may not be a valid
// record. Inserted values come from `other`.
void change_record(Json& record, const Json& other, Dice& dice);

}  // namespace duet
