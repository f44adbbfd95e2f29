#include "team/team.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/deadline.h"
#include "core/error.h"
#include "core/packing.h"
#include "team/agreement.h"

namespace duet {
namespace {

// Ranks wait this much longer than their deadline for the local rank that gathers with the other
// processes, since its error names who is missing.
constexpr double kGraceSeconds = 5;

// What processes wait for in a barrier or gather of their ranks. The ranks' contributions say in
// which one.
const char* const kRanksCall = "a barrier or gather of all ranks";

// The local rank that each() runs on this thread; -1: none.
thread_local int running_rank = -1;

// Within another team's each() too.
struct RunningRank {
  explicit RunningRank(int local) { running_rank = local; }
  ~RunningRank() { running_rank = before; }
  const int before = running_rank;
};

void check_devices(const Machine& machine, const std::vector<int>& devices) {
  for (int device : devices) {
    if (device < 0 || device >= machine.size()) {
      throw BadArgument(fmt::format("{} has devices 0 to {}, not {}", machine.name(),
                                    machine.size() - 1, device));
    }
  }
  if (std::set<int>(devices.begin(), devices.end()).size() != devices.size()) {
    throw BadArgument("a team has one rank per device");
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
  contributions_.resize(devices_.size());
  last_numbers_.resize(devices_.size());
  together([&] {
    check_devices(machine_, devices_);
    if (processes_ != nullptr && machine_.is_virtual()) {
      throw UsageError(fmt::format("--device {}: a simulated machine runs in one process, not {}",
                                   machine_.name(), processes_->size()));
    }
  });
  if (processes_ != nullptr) join_processes();
}

namespace {

// The devices of the group's ranks that are local, and how many ranks of the group come before
// them.
struct LocalPart {
  std::vector<int> devices;
  int before = 0;
};

LocalPart local_part(const Team& parent, const std::vector<int>& group) {
  LocalPart part;
  for (const int rank : group) {
    if (parent.is_local(rank)) part.devices.push_back(parent.device_index(rank));
    if (rank < parent.first_local()) ++part.before;
  }
  if (part.devices.empty()) throw BadArgument("a child team: expected a local rank in its group");
  return part;
}

}  // namespace

Team::Team(Team& parent, std::shared_ptr<const TeamGroups> groups, int group)
    : parent_(&parent),
      groups_(std::move(groups)),
      group_(group),
      machine_(parent.machine_),
      devices_(local_part(parent, this->group()).devices),
      processes_(parent.processes_),
      size_(static_cast<int>(this->group().size())),
      first_local_(local_part(parent, this->group()).before),
      network_(parent.network_),
      last_numbers_(devices_.size()),
      retired_(devices_.size()) {}

Team::~Team() {
  if (processes_ != nullptr && parent_ == nullptr) processes_->forget(on_failure_);
}

int Team::parent_local(int local) const {
  return parent_rank(first_local_ + local) - parent_->first_local_;
}

Rank Team::child_rank(const Rank& of_parent) {
  const auto found = std::lower_bound(group().begin(), group().end(), of_parent.index);
  if (found == group().end() || *found != of_parent.index) {
    throw BadArgument(fmt::format("rank {} is not in this child team", of_parent.index));
  }
  return local_rank(static_cast<int>(found - group().begin()) - first_local_);
}

void Team::join_processes() {
  const std::vector<std::string> sizes = processes_->gather_all(
      std::to_string(local_size()), "all processes to count their ranks", kDefaultDeadlineSeconds);
  size_ = 0;
  for (int i = 0; i < processes_->size(); ++i) {
    if (i == processes_->index()) first_local_ = size_;
    size_ += std::stoi(sizes[static_cast<std::size_t>(i)]);
  }
  processes_->set_label(local_size() == 1 ? fmt::format("rank {}", first_local_)
                                          : fmt::format("ranks {} to {}", first_local_,
                                                        first_local_ + local_size() - 1));
  machine_.make_shareable();
  // Further ones are consequences of the first.
  on_failure_ = processes_->on_failure([this](const std::string& reason) {
    machine_.scheduler().update([&] {
      if (failure_.empty()) failure_ = reason;
    });
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

// Of several children, processes may be in the calls of different ones.
std::vector<std::string> Team::texts_of_ranks(const std::vector<std::string>& mine,
                                              const std::string& what) {
  if (processes_ == nullptr) return mine;
  std::map<std::string, std::string> of_all;
  std::vector<std::string> named;
  for (int local = 0; local < local_size(); ++local) {
    named.push_back(std::to_string(whole_rank(first_local_ + local)));
    named.push_back(mine.at(index_of(local)));
  }
  for (const std::string& process :
       processes_->gather_all(pack(named), what, kDefaultDeadlineSeconds)) {
    const std::vector<std::string> fields = unpack(process);
    for (std::size_t i = 0; i < fields.size(); i += 2) of_all[fields[i]] = fields.at(i + 1);
  }
  std::vector<std::string> all;
  for (int rank = 0; rank < size_; ++rank) {
    all.push_back(of_all.at(std::to_string(whole_rank(rank))));
  }
  return all;
}

int Team::on_failure(std::function<void(const std::string&)> notify) {
  if (parent_ != nullptr) return parent_->on_failure(std::move(notify));
  return processes_ != nullptr ? processes_->on_failure(std::move(notify))
                               : failures_.on_failure(std::move(notify));
}

void Team::forget(int number) {
  if (parent_ != nullptr) return parent_->forget(number);
  return processes_ != nullptr ? processes_->forget(number) : failures_.forget(number);
}

void Team::fail(int rank, const std::string& what) {
  if (parent_ != nullptr) return parent_->fail(parent_rank(rank), what);
  const std::string reason = fmt::format("rank {}: {}", rank, what);
  failures_.fail(rank, reason);
  if (processes_ != nullptr) return processes_->fail(reason);
  // The waiting ranks look again. Those of a simulated machine do so without, and other threads
  // than the ranks' may not call their scheduler.
  if (!machine_.is_virtual()) machine_.scheduler().update([] {});
}

// Of the ranks of this process, or of others. Called with the scheduler's lock.
std::string Team::noticed_failure() const {
  if (!failure_.empty() || processes_ != nullptr || !failures_.any()) return failure_;
  return failures_.failure();
}

std::string Team::failure() const {
  if (parent_ != nullptr) return parent_->failure();
  return processes_ != nullptr ? processes_->failure() : failures_.failure();
}

// Rethrows the error of the rank that failed first: it is the cause of the others', one of which
// may end earlier.
void Team::run_ranks(const std::function<void(Rank&)>& fn) {
  std::vector<std::exception_ptr> errors(devices_.size());
  const auto run_rank = [&](int local) {
    const RunningRank running(local);
    Rank rank = local_rank(local);
    try {
      fn(rank);
    } catch (...) {
      errors[static_cast<std::size_t>(local)] = std::current_exception();
      note_failure(rank.index);
      throw;
    }
  };
  try {
    machine_.scheduler().run(local_size(), run_rank);
  } catch (...) {
    const int first = failures_.failed_rank();
    const auto cause = first < 0 ? nullptr : errors[static_cast<std::size_t>(first - first_local_)];
    if (cause != nullptr) std::rethrow_exception(cause);
    throw;
  }
}

// Of the exception that is handled. The other processes are notified of the first failure alone,
// unless it came from them.
void Team::note_failure(int rank) {
  std::string what = "an exception that is no std::exception";
  bool from_others = false;
  try {
    throw;
  } catch (const std::exception& error) {
    what = error.what();
    from_others = dynamic_cast<const PeerFailed*>(&error) != nullptr;
  } catch (...) {
  }
  const std::string reason = fmt::format("rank {}: {}", rank, what);
  const bool first = failures_.fail(rank, reason);
  give_up(reason);
  if (processes_ != nullptr && first && !from_others) processes_->fail(reason);
}

// Callbacks for a failure of an earlier each() have been made before that one ended.
void Team::each(const std::function<void(Rank&)>& fn) {
  if (parent_ != nullptr) {
    throw BadArgument("each: expected the team of all ranks, not a child team");
  }
  arrived_ = released_ = 0;
  machine_.scheduler().update([&] { failure_.clear(); });
  ++each_calls_;
  failures_.clear();
  if (processes_ != nullptr) {
    const std::string reason = processes_->failure();
    if (!reason.empty()) machine_.scheduler().update([&] { failure_ = reason; });
  }
  together([&] { run_ranks(fn); });
}

// Arrivals are numbered. A call is full at the next multiple of the number of local ranks, also
// when some ranks arrive early at the call after it. The last rank to arrive completes the call
// with the contributions of all.
std::shared_ptr<const void> Team::gather_any(int local, RankContribution mine,
                                             const std::string& what, double deadline_seconds,
                                             const ReadAny& read) {
  if (parent_ != nullptr) {
    return gather_in_groups(local, std::move(mine), what, deadline_seconds, read);
  }
  long own = 0, full = 0;
  std::string failure;
  machine_.scheduler().update([&] {
    failure = noticed_failure();
    if (!failure.empty()) return;
    contributions_[static_cast<std::size_t>(local)] = std::move(mine);
    own = ++arrived_;
    full = (own + local_size() - 1) / local_size() * local_size();
  });
  if (!failure.empty()) throw PeerFailed(fmt::format("{} while waiting for {}", failure, what));
  if (own < full) {
    if (processes_ == nullptr) {
      wait_for(what, deadline_seconds, released_, full);
    } else {
      wait_for(what, deadline_seconds, arrived_, full);
      wait_for_completion(what, deadline_seconds + kGraceSeconds, full);
    }
  } else {
    complete_gather(what, deadline_seconds, read);
    machine_.scheduler().update([&] { released_ = full; });
  }
  if (outcome_.fine()) return gathered_;
  if (broken_) raise(outcome_);
  raise_on_all_ranks(outcome_);
}

// Every process reads every group's bytes: what `read` throws of one group is thrown on all ranks.
std::shared_ptr<const void> Team::gather_in_groups(int local, RankContribution mine,
                                                   const std::string& what, double deadline_seconds,
                                                   const ReadAny& read) {
  using ByGroup = std::vector<std::shared_ptr<const void>>;
  if (!read) {
    return parent_->gather_any(parent_local(local), std::move(mine), what, deadline_seconds, {});
  }
  mine.result += " of each group";
  const auto read_groups = [&](std::vector<std::string> all) -> std::shared_ptr<const void> {
    ByGroup results;
    for (const std::vector<int>& ranks : *groups_) {
      std::vector<std::string> bytes;
      for (const int rank : ranks) bytes.push_back(std::move(all.at(index_of(rank))));
      results.push_back(read(std::move(bytes)));
    }
    return std::make_shared<const ByGroup>(std::move(results));
  };
  const auto all = parent_->gather_any(parent_local(local), std::move(mine), what, deadline_seconds,
                                       read_groups);
  return static_cast<const ByGroup*>(all.get())->at(index_of(group_));
}

// Its outcome is thrown on all local ranks.
void Team::complete_gather(const std::string& what, double deadline_seconds,
                           const ReadAny& read) noexcept {
  outcome_ = {};
  broken_ = false;
  gathered_ = nullptr;
  try {
    std::vector<RankContribution> all = all_contributions(what, deadline_seconds);
    outcome_ = outcome_of_all(all);
    if (!outcome_.fine() || !read) return;
    std::vector<std::string> bytes;
    for (RankContribution& each : all) bytes.push_back(std::move(each.bytes));
    gathered_ = read(std::move(bytes));
  } catch (const std::exception& error) {
    outcome_ = outcome_of(std::current_exception());
    // Other errors (different calls, a failed `read`) are the same in all processes.
    broken_ =
        outcome_.kind == "peer" || outcome_.kind == "timeout" || outcome_.kind == "interrupted";
    if (broken_) give_up(error.what());
  }
}

std::vector<Team::RankContribution> Team::all_contributions(const std::string& what,
                                                            double deadline_seconds) {
  if (processes_ == nullptr) return contributions_;
  std::vector<std::string> mine;
  for (const RankContribution& each : contributions_) {
    mine.push_back(
        pack({each.call, each.result, each.outcome.kind, each.outcome.text, each.bytes}));
  }
  std::vector<RankContribution> all;
  for (const std::string& process :
       processes_->gather_all(pack(mine), kRanksCall, what, deadline_seconds)) {
    for (const std::string& each : unpack(process)) {
      const std::vector<std::string> fields = unpack(each);
      all.push_back({fields.at(0), fields.at(1), {fields.at(2), fields.at(3)}, fields.at(4)});
    }
  }
  return all;
}

// A failed rank is reported before ranks in different calls, since it is their cause.
ShareOutcome Team::outcome_of_all(const std::vector<RankContribution>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const ShareOutcome& outcome = all[rank].outcome;
    if (!outcome.fine()) return {outcome.kind, fmt::format("rank {}: {}", rank, outcome.text)};
  }
  const RankContribution& first = all.front();
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const RankContribution& each = all[rank];
    if (each.call == first.call && each.result == first.result) continue;
    return {"argument",
            fmt::format("ranks have come to different calls: rank 0 waits for {}, rank {} for {}{}",
                        first.call, rank, each.call,
                        each.call == first.call ? ", of another result" : "")};
  }
  return {};
}

// A call at which all have arrived succeeds for all ranks of this process, even if a failure is
// reported before the last of them wakes: otherwise one would free what the others go on to use.
void Team::wait_for(const std::string& what, double deadline_seconds, const long& count,
                    long goal) {
  std::string failure;
  wait_until(what, deadline_seconds, [&] {
    if (count >= goal) return true;
    failure = noticed_failure();
    return !failure.empty();
  });
  if (!failure.empty()) throw PeerFailed(fmt::format("{} while waiting for {}", failure, what));
}

// The rank that completes the call sees a failure as well, and puts it into the outcome.
void Team::wait_for_completion(const std::string& what, double deadline_seconds, long full) {
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

// From now on the ranks' calls no longer pair up: all further ones of this each() throw.
void Team::give_up(const std::string& reason) {
  machine_.scheduler().update([&] {
    if (failure_.empty()) failure_ = reason;
  });
}

void Team::barrier(const std::string& what, double deadline_seconds) {
  if (parent_ != nullptr) return parent_->barrier(what, deadline_seconds);
  if (running_rank < 0)
    throw BadArgument(fmt::format("{}: expected a call inside of each()", what));
  gather_any(running_rank, {what, "", {}, ""}, what, deadline_seconds, {});
}

void Team::all_or_none(Rank& rank, const std::string& what, const std::function<void()>& step,
                       double deadline_seconds) {
  const auto make = [&] {
    step();
    return std::string();
  };
  make_and_gather(rank, {what, "", {}, ""}, make, deadline_seconds, {});
}

// A rank whose `make` failed takes part as well, in this call or in the one inside `make` in which
// the others are.
std::shared_ptr<const void> Team::make_and_gather(Rank& rank, RankContribution mine,
                                                  const Make& make, double deadline_seconds,
                                                  const ReadAny& read) {
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
  if (own == nullptr) return gather_any(rank.local, std::move(mine), what, deadline_seconds, read);
  try {
    gather_any(rank.local, std::move(mine), what, deadline_seconds, read);
  } catch (const OnAllRanks&) {
    raise_on_all_ranks(outcome);
  } catch (const std::exception&) {
    // The other ranks cannot be notified any more; the rank's own error is the cause, or says more.
  }
  std::rethrow_exception(own);
}

std::string Team::first_reason(Rank& rank, std::string mine, const std::string& what,
                               double deadline_seconds) {
  if (parent_ != nullptr) {
    Rank of_parent = parent_->local_rank(parent_local(rank.local));
    return parent_->first_reason(of_parent, std::move(mine), what, deadline_seconds);
  }
  const auto first = [](const std::vector<std::string>& all) {
    const auto found =
        std::find_if(all.begin(), all.end(), [](const auto& text) { return !text.empty(); });
    return found != all.end() ? *found : std::string();
  };
  return *gather_as<std::string>(rank, std::move(mine), what, first, deadline_seconds);
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
  std::uint64_t& last = last_numbers_[static_cast<std::size_t>(rank.local)];
  last = std::max(last + 1, whole().each_calls_ << kNumberBits);
  return last;
}

void Team::take_number(const Rank& rank, std::uint64_t number) {
  last_numbers_[static_cast<std::size_t>(rank.local)] = number;
}

}  // namespace duet
