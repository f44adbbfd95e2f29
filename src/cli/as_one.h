// Commands in the processes of a run: those that run in several act as one program, of which
// process 0 speaks; the others refuse to be started in several.
#pragma once

#include <functional>
#include <string>

#include "team/processes.h"

namespace duet {

// Calls `command` in every process and returns the exit code, in all the same. An error in one is
// one in all, written to standard error by process 0; others write only that process 0 is gone.
// Where a process is gone it ends this one: what waits for all at its end would wait for ever.
int as_one(Processes& processes, const std::function<int()>& command);

// Throws UsageError where the environment says that this process is one of several.
void require_one_process(const std::string& command);

}  // namespace duet
