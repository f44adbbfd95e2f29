#pragma once

#include <string>

namespace duet {

// Writes "duet: " and the message to standard error as one line: control characters are replaced.
void complain(const std::string& message);

}  // namespace duet
