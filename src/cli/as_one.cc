#include "cli/as_one.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <optional>

#include "cli/complain.h"
#include "cli/interrupt.h"
#include "core/error.h"
#include "team/agreement.h"
#include "team/launch.h"

namespace duet {
namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr double kLastWordsSeconds = 10;

// A launcher may kill all processes once one has ended with an error. No process ends before
// process 0 has written its message.
void wait_for_last_words(Processes& processes) {
  try {
    processes.barrier("process 0 to say what failed", kLastWordsSeconds);
  } catch (const Error&) {
    // The message about a process that is gone has been written already.
  }
}

int fail(Processes& processes, const std::string& text, int code) {
  if (processes.index() == 0) complain(text);
  wait_for_last_words(processes);
  return code;
}

// A command that ends in one process alone is a failure, whatever the reason: devices of the others
// may wait for what this process would have enqueued.
int run(const std::function<int()>& command) {
  try {
    return command();
  } catch (const Unavailable& error) {
    throw Error(error.what());
  }
}

}  // namespace

int as_one(Processes& processes, const std::function<int()>& command) {
  if (processes.size() == 1) return command();
  processes.stop_when(interrupted);
  std::optional<int> code;
  try {
    run_together(processes, [&] { code = run(command); });
  } catch (const UsageError& error) {
    code = fail(processes, error.what(), kBadUsage);
  } catch (const PeerFailed& error) {
    // A command that returned has written its own message.
    if (processes.lost_process_0()) complain(error.what());
    if (!code) code = fail(processes, error.what(), kFailed);
  } catch (const ReaderGone&) {
    wait_for_last_words(processes);
    throw;
  } catch (const std::exception& error) {
    code = fail(processes, error.what(), kFailed);
  }
  if (!processes.lost_any()) return *code;
  std::cout.flush();
  std::_Exit(kFailed);
}

void require_one_process(const std::string& command) {
  const LaunchedBy by = launched_by();
  if (by.size <= 1 || is_one_of_each_node()) return;
  throw UsageError(fmt::format(
      "duet {} runs in one process: {} says that this is one of {}; only "
      "duet collective, duet fabric, duet halo, duet overlap and duet train --parallel run "
      "in several",
      command, by.variable, by.size));
}

}  // namespace duet
