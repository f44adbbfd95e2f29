#pragma once

#include "dice.h"
#include "results/record_json.h"

namespace duet {

// Makes one change at a random place of the record. The result is JSON but may not be a valid
// record. Inserted values come from `other`.
void change_record(Json& record, const Json& other, Dice& dice);

}  // namespace duet
