#include "run/lockstep.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/packing.h"

namespace duet {
namespace {

// Between cases process 0 writes files, on file systems that may be slow.
constexpr double kDeadlineSeconds = 600;

}  // namespace

Lockstep::Lockstep(Processes* processes)
    : processes_(processes != nullptr && processes->size() > 1 ? processes : nullptr) {}

Lockstep::Step Lockstep::next(const std::string& key, const Step& mine) {
  if (processes_ == nullptr) return mine;
  const std::string own = pack({key, mine.stop ? "stop" : "", mine.done ? "done" : ""});
  Step step;
  std::string first;
  for (const std::string& each :
       processes_->gather_all(own, "all processes to come to the next case", kDeadlineSeconds)) {
    const std::vector<std::string> fields = unpack(each);
    step.stop = step.stop || !fields.at(1).empty();
    if (first.empty()) {
      first = fields.at(0);
      step.done = !fields.at(2).empty();
    } else if (fields.at(0) != first) {
      throw UsageError(
          fmt::format("processes have different cases next, {} and {}: expected the same "
                      "command, kinds of device and engines everywhere",
                      first, fields.at(0)));
    }
  }
  return step;
}

bool Lockstep::decided(bool mine, const std::string& what) { return decided(int{mine}, what) != 0; }

int Lockstep::decided(int mine, const std::string& what) {
  if (processes_ == nullptr) return mine;
  return std::stoi(processes_->gather_all(std::to_string(mine), what, kDeadlineSeconds).front());
}

void Lockstep::require_all(const std::string& seen) const {
  if (processes_ == nullptr) return;
  const std::string reason = processes_->failure();
  if (reason.empty()) return;
  // An error that only reports the same failure begins with its text.
  const bool same = seen.empty() || seen.rfind(reason, 0) == 0;
  throw PeerFailed(same ? reason : fmt::format("{}; before that: {}", reason, seen));
}

}  // namespace duet
