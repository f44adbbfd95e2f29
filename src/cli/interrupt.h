#pragma once

#include <string>

namespace duet {

// From now on the first Ctrl-C or SIGTERM asks the run to stop after its current call, with a
// message at once; the second one ends the process. Only the process that `speaks` writes messages.
void catch_interrupts(bool speaks);
// Has a signal asked the run to stop?
bool interrupted() noexcept;

// Sets the text that the second signal writes to standard error before it ends the process: how to
// resume. May be called once.
void set_last_words(const std::string& line);

}  // namespace duet
