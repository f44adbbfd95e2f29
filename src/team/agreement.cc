#include "team/agreement.h"

#include <fmt/format.h>

#include <exception>

#include "core/packing.h"
#include "team/share_outcome.h"

namespace duet {
namespace {

// The failure of the lowest process. A process that failed only because of another one comes last.
void raise_first(const std::vector<std::string>& all) {
  ShareOutcome consequence;
  for (const std::string& each : all) {
    const std::vector<std::string> fields = unpack(each);
    const ShareOutcome outcome{fields.at(0), fmt::format("{}: {}", fields.at(2), fields.at(1))};
    if (outcome.fine()) continue;
    if (outcome.kind != "peer") raise(outcome);
    if (consequence.fine()) consequence = outcome;
  }
  if (!consequence.fine()) raise(consequence);
}

}  // namespace

void run_together(Processes& processes, const std::function<void()>& share) {
  std::exception_ptr own;
  try {
    share();
  } catch (...) {
    own = std::current_exception();
  }
  const ShareOutcome outcome = outcome_of(own);
  if (outcome.kind == "unavailable") {
    processes.decline(outcome.text);
  } else if (!outcome.fine() && outcome.kind != "peer") {
    processes.fail(outcome.text);
  }
  processes.begin_epoch();
  std::vector<std::string> all;
  try {
    all = processes.gather_all(pack({outcome.kind, outcome.text, processes.name()}),
                               "all processes to end their share", kNoDeadline);
  } catch (const Error&) {
    if (own != nullptr) std::rethrow_exception(own);
    throw;
  }
  if (own != nullptr && outcome.kind != "peer") std::rethrow_exception(own);
  raise_first(all);
}

}  // namespace duet
