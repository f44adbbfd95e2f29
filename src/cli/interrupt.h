// Ctrl-C: the first asks the run to stop after what it is doing, the second ends the process.
#pragma once

namespace duet {

void catch_interrupts();  // SIGINT and SIGTERM
bool interrupted() noexcept;

}  // namespace duet
