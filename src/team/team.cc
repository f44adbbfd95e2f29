// Ranks that start, meet and end together.
#include "team/team.h"

#include <fmt/format.h>

#include <set>

#include "core/error.h"

namespace duet {

Team::Team(Machine& machine, std::vector<int> devices)
    : machine_(machine), devices_(std::move(devices)) {
  if (devices_.empty()) {
    for (int i = 0; i < machine_.size(); ++i) devices_.push_back(i);
  }
  for (int device : devices_) {
    if (device < 0 || device >= machine_.size()) {
      throw BadArgument(fmt::format("{} has devices 0 to {}, not {}", machine_.name(),
                                    machine_.size() - 1, device));
    }
  }
  if (std::set<int>(devices_.begin(), devices_.end()).size() != devices_.size()) {
    throw BadArgument("a team has one rank a device");
  }
}

void Team::each(const std::function<void(Rank&)>& fn) {
  arrived_ = 0;
  machine_.turns().run(size(), [&](int index) {
    Rank rank{index, size(), device(index), *this};
    fn(rank);
  });
}

void Team::barrier(const std::string& what, double deadline_seconds) {
  // Arrivals are numbered; the round that this one belongs to is full at the next multiple of the
  // team's size, whoever comes early to the round after it.
  long full = 0;
  machine_.turns().update([&] { full = (arrived_++ / size() + 1) * size(); });
  machine_.turns().wait(what, deadline_seconds, [&] { return arrived_ >= full; });
}

}  // namespace duet
