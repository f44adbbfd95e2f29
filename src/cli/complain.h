// What goes to standard error.
#pragma once

#include <string>

namespace duet {

// One line, "duet: " before it, whatever the message holds.
void complain(const std::string& message);

}  // namespace duet
