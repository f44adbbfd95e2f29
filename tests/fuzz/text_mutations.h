#pragma once

#include <string>

#include "dice.h"

namespace duet {

// Damages a journal's text at a random place, as disks, editors and other programs may. Inserted
// pieces come from `other`. The result is mostly not a valid journal.
void damage_text(std::string& text, const std::string& other, Dice& dice);

}  // namespace duet
