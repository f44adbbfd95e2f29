// A journal's text damaged as disks, editors and other programs damage it. Most of what comes out
// is no journal any more.
#pragma once

#include <string>

#include "dice.h"

namespace duet {

// One change at a random place; `other` gives the pieces that are put in.
void damage_text(std::string& text, const std::string& other, Dice& dice);

}  // namespace duet
