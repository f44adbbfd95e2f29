// Records changed as JSON: the text stays JSON, what it says does not stay a record.
#pragma once

#include "dice.h"
#include "results/record.h"

namespace duet {

// One change at a random place of the record; `other` gives the values that are put in.
void change_record(Record& record, const Record& other, Dice& dice);

}  // namespace duet
