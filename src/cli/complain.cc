#include "cli/complain.h"

#include <iostream>

#include "core/plain_text.h"

namespace duet {

void complain(const std::string& message) {
  std::cerr << "duet: " + one_line(message) + "\n" << std::flush;
}

}  // namespace duet
