// The ranks of a run: one per local device, each driven by a thread of its own (or by turns on a
// simulated machine).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/machine.h"

namespace duet {

class Team;

struct Rank {
  int index = 0;
  int size = 1;
  Device& device;
  Team& team;
};

class Team {
 public:
  // Ranks on the named devices of the machine, in that order; all of them if `devices` is empty.
  // The machine must outlive the team.
  explicit Team(Machine& machine, std::vector<int> devices = {});

  int size() const { return static_cast<int>(devices_.size()); }
  Machine& machine() { return machine_; }
  Device& device(int rank) { return machine_.device(devices_.at(static_cast<std::size_t>(rank))); }

  // Runs fn on every local rank and returns when all have ended; rethrows the first error, while
  // the others leave their barriers with an error of their own.
  void each(const std::function<void(Rank&)>& fn);

  // Inside each(): returns when every rank has come here. Throws Timeout naming `what`.
  void barrier(const std::string& what, double deadline_seconds = 60);

 private:
  Machine& machine_;
  std::vector<int> devices_;
  long arrived_ = 0;  // ranks that ever came to a barrier in this each(); guarded by turns()
};

}  // namespace duet
