#pragma once

#include <string>

namespace duet {

// How a run ends after the first signal.
enum class Stopping {
  soon,             // after the current call, or 3 seconds later if the call takes longer
  with_checkpoint,  // after the current step, whatever it takes, and its checkpoint
};

// From now on the first Ctrl-C or SIGTERM asks the run to stop, with a message at once; the second
// one ends the process. Only the process that `speaks` writes messages.
void catch_interrupts(bool speaks, Stopping how = Stopping::soon);
// Has a signal asked the run to stop?
bool interrupted() noexcept;

// Sets the text that is written to standard error before a signal ends the process: how to resume.
// May be called once.
void set_last_words(const std::string& line);

}  // namespace duet
