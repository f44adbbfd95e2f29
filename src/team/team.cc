// Ranks that start, meet and end together.
#include "team/team.h"

#include <fmt/format.h>

#include <algorithm>
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

// What processes wait for when their ranks meet; which meeting it is stands in the ranks' parts.
const char* const kMeeting = "all ranks to meet";

// The local rank that each() runs on this thread; -1: none.
thread_local int running_rank = -1;

struct RunningRank {
  explicit RunningRank(int local) { running_rank = local; }
  ~RunningRank() { running_rank = -1; }
};

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
      processes_(processes != nullptr && processes->size() > 1 ? processes : nullptr),
      retired_(devices_.empty() ? static_cast<std::size_t>(machine.size()) : devices_.size()) {
  if (devices_.empty()) {
    for (int i = 0; i < machine_.size(); ++i) devices_.push_back(i);
  }
  size_ = local_size();
  parts_.resize(devices_.size());
  numbered_.resize(devices_.size());
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
  on_failure_ = processes_->on_failure([this](const std::string& reason) {
    machine_.scheduler().update([&] { failure_ = reason; });
  });
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

int Team::on_failure(std::function<void(const std::string&)> tell) {
  return processes_ != nullptr ? processes_->on_failure(std::move(tell))
                               : failures_.on_failure(std::move(tell));
}

void Team::forget(int number) {
  return processes_ != nullptr ? processes_->forget(number) : failures_.forget(number);
}

void Team::fail(int rank, const std::string& what) {
  const std::string reason = fmt::format("rank {}: {}", rank, what);
  failures_.fail(rank, reason);
  if (processes_ != nullptr) processes_->fail(reason);
}

std::string Team::failure() const {
  return processes_ != nullptr ? processes_->failure() : failures_.failure();
}

// The error of the rank that failed first is the cause of the others', one of which may end before
// it does.
void Team::run_ranks(const std::function<void(Rank&)>& fn) {
  std::vector<std::exception_ptr> errors(devices_.size());
  const auto run_rank = [&](int local) {
    const RunningRank running(local);
    Rank rank = local_rank(local);
    try {
      fn(rank);
    } catch (const std::exception& error) {
      errors[static_cast<std::size_t>(local)] = std::current_exception();
      note_failure(rank.index, error);
      throw;
    }
  };
  try {
    machine_.scheduler().run(local_size(), run_rank);
  } catch (const std::exception&) {
    const int first = failures_.failed_rank();
    const auto cause = first < 0 ? nullptr : errors[static_cast<std::size_t>(first - first_local_)];
    if (cause != nullptr) std::rethrow_exception(cause);
    throw;
  }
}

// The other processes know of what came from them, and need no consequence of what they know.
void Team::note_failure(int rank, const std::exception& error) {
  const std::string reason = fmt::format("rank {}: {}", rank, error.what());
  const bool first = failures_.fail(rank, reason);
  const bool from_others = dynamic_cast<const PeerFailed*>(&error) != nullptr;
  if (processes_ != nullptr && first && !from_others) processes_->fail(reason);
}

// A failure of an earlier each() has been told before that one ended.
void Team::each(const std::function<void(Rank&)>& fn) {
  arrived_ = released_ = 0;
  machine_.scheduler().update([&] { failure_.clear(); });
  ++eaches_;
  failures_.clear();
  if (processes_ != nullptr) {
    const std::string reason = processes_->failure();
    if (!reason.empty()) machine_.scheduler().update([&] { failure_ = reason; });
  }
  together([&] { run_ranks(fn); });
}

// Arrivals are numbered; the round that this one belongs to is full at the next multiple of the
// number of local ranks, whoever comes early to the round after it. The last to arrive concludes
// the meeting with what others have brought before.
std::shared_ptr<const void> Team::meet(int local, Part mine, const std::string& what,
                                       double deadline_seconds, const ReadAny& read) {
  long own = 0, full = 0;
  std::string failure;
  machine_.scheduler().update([&] {
    failure = failure_;
    if (!failure.empty()) return;
    parts_[static_cast<std::size_t>(local)] = std::move(mine);
    own = ++arrived_;
    full = (own + local_size() - 1) / local_size() * local_size();
  });
  if (!failure.empty()) throw PeerFailed(fmt::format("{} while waiting for {}", failure, what));
  if (own < full) {
    if (processes_ == nullptr) {
      wait_for(what, deadline_seconds, released_, full);
    } else {
      wait_for(what, deadline_seconds, arrived_, full);
      wait_for_conclusion(what, deadline_seconds + kGraceSeconds, full);
    }
  } else {
    conclude(what, deadline_seconds, read);
    machine_.scheduler().update([&] { released_ = full; });
  }
  if (outcome_.fine()) return gathered_;
  if (broken_) raise(outcome_);
  raise_on_all_ranks(outcome_);
}

// Its errors are those of all local ranks.
void Team::conclude(const std::string& what, double deadline_seconds,
                    const ReadAny& read) noexcept {
  outcome_ = {};
  broken_ = false;
  gathered_ = nullptr;
  try {
    std::vector<Part> parts = all_parts(what, deadline_seconds);
    outcome_ = verdict_on(parts);
    if (!outcome_.fine() || !read) return;
    std::vector<std::string> bytes;
    for (Part& part : parts) bytes.push_back(std::move(part.bytes));
    gathered_ = read(std::move(bytes));
  } catch (const std::exception& error) {
    outcome_ = outcome_of(std::current_exception());
    // That processes are in different calls is known to all of them, and so is what is read.
    broken_ =
        outcome_.kind == "peer" || outcome_.kind == "timeout" || outcome_.kind == "interrupted";
    if (broken_) give_up(error.what());
  }
}

std::vector<Team::Part> Team::all_parts(const std::string& what, double deadline_seconds) {
  if (processes_ == nullptr) return parts_;
  std::vector<std::string> mine;
  for (const Part& part : parts_) {
    mine.push_back(
        pack({part.call, part.result, part.outcome.kind, part.outcome.text, part.bytes}));
  }
  std::vector<Part> all;
  for (const std::string& process :
       processes_->gather_all(pack(mine), kMeeting, what, deadline_seconds)) {
    for (const std::string& part : unpack(process)) {
      const std::vector<std::string> fields = unpack(part);
      all.push_back({fields.at(0), fields.at(1), {fields.at(2), fields.at(3)}, fields.at(4)});
    }
  }
  return all;
}

// A rank that failed comes before ranks that have come to different meetings: it is the reason.
ShareOutcome Team::verdict_on(const std::vector<Part>& parts) {
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const ShareOutcome& outcome = parts[rank].outcome;
    if (!outcome.fine()) return {outcome.kind, fmt::format("rank {}: {}", rank, outcome.text)};
  }
  const Part& first = parts.front();
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    const Part& part = parts[rank];
    if (part.call == first.call && part.result == first.result) continue;
    return {"argument",
            fmt::format("ranks have come to different calls: rank 0 waits for {}, rank {} for {}{}",
                        first.call, rank, part.call,
                        part.call == first.call ? ", of another result" : "")};
  }
  return {};
}

// A meeting that all came to is over for all of this process, even where a failure is told before
// the last of them wakes: else one would take down what the others go on to use.
void Team::wait_for(const std::string& what, double deadline_seconds, const long& count,
                    long goal) {
  std::string failure;
  wait_until(what, deadline_seconds, [&] {
    if (count >= goal) return true;
    failure = failure_;
    return !failure_.empty();
  });
  if (!failure.empty()) throw PeerFailed(fmt::format("{} while waiting for {}", failure, what));
}

// The rank that concludes hears of a failure as well; where it is the one that failed, the outcome
// says so with its own error.
void Team::wait_for_conclusion(const std::string& what, double deadline_seconds, long full) {
  wait_until(what, deadline_seconds, [&] { return released_ >= full; });
}

void Team::wait_until(const std::string& what, double deadline_seconds,
                      const std::function<bool()>& done) {
  try {
    machine_.scheduler().wait(what, deadline_seconds, done);
  } catch (const Timeout& error) {
    fail(first_local_ + running_rank, error.what());
    give_up(fmt::format("rank {}: {}", first_local_ + running_rank, error.what()));
    throw;
  }
}

// Ranks no longer come to the same meetings.
void Team::give_up(const std::string& reason) {
  machine_.scheduler().update([&] {
    if (failure_.empty()) failure_ = reason;
  });
}

void Team::barrier(const std::string& what, double deadline_seconds) {
  if (running_rank < 0) throw BadArgument(fmt::format("{}: ranks meet inside of each()", what));
  meet(running_rank, {what, "", {}, ""}, what, deadline_seconds, {});
}

void Team::all_or_none(Rank& rank, const std::string& what, const std::function<void()>& step,
                       double deadline_seconds) {
  const auto make = [&] {
    step();
    return std::string();
  };
  meet_with(rank, {what, "", {}, ""}, make, deadline_seconds, {});
}

// A rank whose part cannot be made comes to the meeting as well, or to the one within `make` where
// the others are.
std::shared_ptr<const void> Team::meet_with(Rank& rank, Part mine, const Make& make,
                                            double deadline_seconds, const ReadAny& read) {
  std::exception_ptr own;
  try {
    mine.bytes = make();
  } catch (const OnAllRanks&) {
    throw;
  } catch (...) {
    own = std::current_exception();
  }
  const ShareOutcome outcome = mine.outcome = outcome_of(own);
  const std::string what = mine.call;
  if (own == nullptr) return meet(rank.local, std::move(mine), what, deadline_seconds, read);
  try {
    meet(rank.local, std::move(mine), what, deadline_seconds, read);
  } catch (const OnAllRanks&) {
    raise_on_all_ranks(outcome);
  } catch (const std::exception&) {
    // Nobody can be told any more, and the own error is the cause of that or better known.
  }
  std::rethrow_exception(own);
}

void Team::free_retired(Rank& rank, double deadline_seconds) {
  const auto in_all = [](const std::vector<std::string>& all) { return numbers_in_all(all); };
  const auto numbers = gather_as<std::vector<std::uint64_t>>(
      rank, numbers_text(retired_.retired(rank.local)), "all ranks to free what they have retired",
      in_all, deadline_seconds);
  retired_.free(rank.local, *numbers);
}

std::uint64_t Team::next_number(const Rank& rank) {
  constexpr int kNumberBits = 32;
  std::uint64_t& last = numbered_[static_cast<std::size_t>(rank.local)];
  last = std::max(last + 1, eaches_ << kNumberBits);
  return last;
}

void Team::take_number(const Rank& rank, std::uint64_t number) {
  numbered_[static_cast<std::size_t>(rank.local)] = number;
}

}  // namespace duet
