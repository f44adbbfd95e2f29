// Ctrl-C and SIGTERM: the first asks the run to stop after what it is doing, and says so at once;
// the second ends the process.
#pragma once

#include <string>

namespace duet {

// From now on. Of several processes only one `speaks`.
void catch_interrupts(bool speaks);
bool interrupted() noexcept;

// What the second signal writes to standard error before it ends the process: how to go on. Called
// once at most.
void set_last_words(const std::string& line);

}  // namespace duet
