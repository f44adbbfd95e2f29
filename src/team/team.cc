// Ranks that start, meet and end together.
#include "team/team.h"

#include <fmt/format.h>

#include <set>

#include "core/error.h"
#include "core/packing.h"
#include "team/agreement.h"

namespace duet {
namespace {

// What ranks wait beyond their deadline for the one of them that speaks to the other processes: it
// knows better who is missing.
constexpr double kGraceSeconds = 5;
constexpr double kJoinSeconds = 60;

void check_devices(const Machine& machine, const std::vector<int>& devices) {
  for (int device : devices) {
    if (device < 0 || device >= machine.size()) {
      throw BadArgument(fmt::format("{} has devices 0 to {}, not {}", machine.name(),
                                    machine.size() - 1, device));
    }
  }
  if (std::set<int>(devices.begin(), devices.end()).size() != devices.size()) {
    throw BadArgument("a team has one rank a device");
  }
}

}  // namespace

Team::Team(Machine& machine, std::vector<int> devices, Processes* processes)
    : machine_(machine),
      devices_(std::move(devices)),
      processes_(processes != nullptr && processes->size() > 1 ? processes : nullptr) {
  if (devices_.empty()) {
    for (int i = 0; i < machine_.size(); ++i) devices_.push_back(i);
  }
  size_ = local_size();
  parts_.resize(devices_.size());
  together([&] {
    check_devices(machine_, devices_);
    if (processes_ != nullptr && machine_.is_virtual()) {
      throw UsageError(fmt::format("--device {}: a simulated machine runs in one process, not {}",
                                   machine_.name(), processes_->size()));
    }
  });
  if (processes_ != nullptr) join_processes();
}

Team::~Team() {
  if (processes_ != nullptr) processes_->forget(on_failure_);
}

void Team::join_processes() {
  const std::vector<std::string> sizes = processes_->gather_all(
      std::to_string(local_size()), "all processes to tell their ranks", kJoinSeconds);
  size_ = 0;
  for (int i = 0; i < processes_->size(); ++i) {
    if (i == processes_->index()) first_local_ = size_;
    size_ += std::stoi(sizes[static_cast<std::size_t>(i)]);
  }
  processes_->set_label(local_size() == 1 ? fmt::format("rank {}", first_local_)
                                          : fmt::format("ranks {} to {}", first_local_,
                                                        first_local_ + local_size() - 1));
  machine_.make_shareable();
  on_failure_ = processes_->on_failure(
      [this](const std::string& reason) { machine_.turns().update([&] { failure_ = reason; }); });
}

int Team::device_index(int rank) const {
  if (!is_local(rank)) {
    throw BadArgument(fmt::format("rank {} is not of this process, which has {} to {}", rank,
                                  first_local_, first_local_ + local_size() - 1));
  }
  return devices_[static_cast<std::size_t>(rank - first_local_)];
}

void Team::together(const std::function<void()>& fn) {
  if (processes_ == nullptr) return fn();
  run_together(*processes_, fn);
}

// A failure of an earlier each() has been told before that one ended.
void Team::each(const std::function<void(Rank&)>& fn) {
  arrived_ = released_ = 0;
  const auto run_rank = [&](int local) {
    Rank rank = local_rank(local);
    fn(rank);
  };
  if (processes_ == nullptr) return machine_.turns().run(local_size(), run_rank);
  machine_.turns().update([&] { failure_.clear(); });
  if (const std::string reason = processes_->failure(); !reason.empty()) {
    machine_.turns().update([&] { failure_ = reason; });
  }
  // The first error of this process is the cause of its others, also of those that come back from
  // the other processes.
  std::exception_ptr cause;
  const auto tell_failure = [&](int local) {
    try {
      run_rank(local);
    } catch (const std::exception& error) {
      bool first = false;
      machine_.turns().update([&] {
        first = cause == nullptr;
        if (first) cause = std::current_exception();
      });
      if (first && dynamic_cast<const PeerFailed*>(&error) == nullptr) {
        processes_->fail(fmt::format("rank {}: {}", first_local_ + local, error.what()));
      }
      throw;
    }
  };
  together([&] {
    try {
      machine_.turns().run(local_size(), tell_failure);
    } catch (const std::exception&) {
      if (cause != nullptr) std::rethrow_exception(cause);
      throw;
    }
  });
}

// Arrivals are numbered; the round that this one belongs to is full at the next multiple of the
// number of local ranks, whoever comes early to the round after it. The last to arrive speaks, with
// what others have written before.
void Team::meet(const std::string& what, double deadline_seconds,
                const std::function<void(double)>& speak) {
  long own = 0, full = 0;
  machine_.turns().update([&] {
    own = ++arrived_;
    full = (own + local_size() - 1) / local_size() * local_size();
  });
  if (!speak) return wait_for(what, deadline_seconds, arrived_, full);
  if (own < full) {
    wait_for(what, deadline_seconds, arrived_, full);
    return wait_for(what, deadline_seconds + kGraceSeconds, released_, full);
  }
  speak(deadline_seconds);
  machine_.turns().update([&] { released_ = full; });
}

// A meeting that all came to is over for all of this process, even where a failure is told before
// the last of them wakes: else one would take down what the others go on to use.
void Team::wait_for(const std::string& what, double deadline_seconds, const long& count,
                    long goal) {
  std::string failure;
  machine_.turns().wait(what, deadline_seconds, [&] {
    if (count >= goal) return true;
    failure = failure_;
    return !failure_.empty();
  });
  if (!failure.empty()) throw PeerFailed(fmt::format("{} while waiting for {}", failure, what));
}

void Team::barrier(const std::string& what, double deadline_seconds) {
  if (processes_ == nullptr) return meet(what, deadline_seconds, {});
  meet(what, deadline_seconds, [&](double left) { processes_->barrier(what, left); });
}

std::shared_ptr<const void> Team::gather_any(Rank& rank, std::string mine, const std::string& what,
                                             double deadline_seconds, const ReadAny& read) {
  parts_[static_cast<std::size_t>(rank.local)] = std::move(mine);
  meet(what, deadline_seconds, [&](double left) {
    if (processes_ == nullptr) {
      gathered_ = read(parts_);
      return;
    }
    std::vector<std::string> all;
    for (const std::string& process : processes_->gather_all(pack(parts_), what, left)) {
      for (std::string& part : unpack(process)) all.push_back(std::move(part));
    }
    gathered_ = read(std::move(all));
  });
  return gathered_;
}

}  // namespace duet
