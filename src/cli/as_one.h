#pragma once

#include <functional>
#include <string>

#include "team/processes.h"

namespace duet {

// Runs a command in all processes of a run as if they were one program. Calls `command` in every
// process and returns the same exit code in all. An error in one process is an error in all.
// Process 0 writes it to standard error; the others write only if process 0 is gone. If a process
// is gone, as_one() ends this process without destructors, some of which wait for all processes.
int as_one(Processes& processes, const std::function<int()>& command);

// For commands that run in one process: throws UsageError if a launcher has started several, other
// than by srun one on each node, of which each runs by itself.
void require_one_process(const std::string& command);

}  // namespace duet
