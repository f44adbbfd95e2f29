#include "communicator/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "collectives/engine.h"
#include "collectives/group_sessions.h"
#include "communicator/native_streams.h"
#include "team/agreement.h"
#include "team/processes.h"

namespace duet {
namespace {

std::unique_ptr<Processes> join_run(const CommunicatorOptions& options) {
  Launch launch = options.launch ? *options.launch : find_launch();
  if (options.port != 0 && !launch.addresses.empty()) launch.port = options.port;
  return std::make_unique<Processes>(std::move(launch), options.deadline_seconds);
}

std::unique_ptr<Machine> open_own(const std::string& device, Processes& processes) {
  std::unique_ptr<Machine> machine;
  run_together(processes, [&] { machine = open_machine(own_device(device, processes)); });
  return machine;
}

// Ranks with different engines would wait for each other forever.
void require_one_engine(const std::string& mine, Processes& processes, double deadline_seconds) {
  const std::vector<std::string> all = processes.gather_all(
      mine, "all processes to compare their collective engines", deadline_seconds);
  for (std::size_t other = 0; other < all.size(); ++other) {
    if (all[other] == all.front()) continue;
    throw UsageError(
        fmt::format("expected one engine: process 0 asks for '{}', process {} for '{}'",
                    all.front(), other, all[other]));
  }
}

// Throws BadArgument.
void require_division(const TeamGroups& groups, int ranks) {
  std::vector<int> all;
  bool rise = true, equal = true;
  for (const std::vector<int>& each : groups) {
    rise = rise && std::is_sorted(each.begin(), each.end());
    equal = equal && each.size() == groups.front().size();
    all.insert(all.end(), each.begin(), each.end());
  }
  std::sort(all.begin(), all.end());
  std::vector<int> expected(static_cast<std::size_t>(ranks));
  std::iota(expected.begin(), expected.end(), 0);
  if (rise && equal && all == expected) return;
  throw BadArgument(
      fmt::format("groups: expected groups of equal size, in which each of the ranks 0 to {} is "
                  "once, in rising order",
                  ranks - 1));
}

}  // namespace

RankGroups::RankGroups(std::unique_ptr<GroupSessions> sessions) : sessions_(std::move(sessions)) {}
RankGroups::RankGroups(RankGroups&& other) noexcept = default;
RankGroups& RankGroups::operator=(RankGroups&& other) noexcept = default;
RankGroups::~RankGroups() = default;

LocalRank RankGroups::of(const LocalRank& rank) const {
  return {sessions_->rank(*rank.rank_), sessions_->session(*rank.rank_), rank.streams_};
}

// The members' order is the order of construction, and of destruction in reverse.
struct Communicator::Impl {
  explicit Impl(const CommunicatorOptions& options)
      : processes(join_run(options)),
        machine(open_own(options.device, *processes)),
        team(*machine, {}, processes.get()) {
    team.set_network(options.network);
    team.set_node_size(options.node_size);
    require_one_engine(options.engine, *processes, options.deadline_seconds);
    team.together([&] { engine = engines_named(*machine, {options.engine}).front(); });
    session = engine->open(team);
    for (int local = 0; local < team.local_size(); ++local) {
      streams.emplace_back(team.local_rank(local).device);
    }
  }

  // To be called before an each() that follows one which has thrown: a session whose rails, or
  // whose library, have not survived that is replaced. Its calls and memory keep the old one.
  void replace_session() {
    std::vector<std::string> ended;
    team.together([&] {
      ended =
          processes->gather_all(session->usable() ? "" : "ended",
                                "all processes to look at their session", kDefaultDeadlineSeconds);
    });
    const auto has_ended = [](const std::string& each) { return !each.empty(); };
    if (std::none_of(ended.begin(), ended.end(), has_ended)) return;
    std::shared_ptr<CollectiveSession> next = engine->open(team);
    replaced.push_back(std::exchange(session, std::move(next)));
  }

  // A session may wait for the devices when it ends, so that no rank ends it.
  void end_replaced() {
    const auto unused = [](const auto& each) { return each.use_count() == 1; };
    replaced.erase(std::remove_if(replaced.begin(), replaced.end(), unused), replaced.end());
  }

  std::unique_ptr<Processes> processes;
  std::unique_ptr<Machine> machine;
  Team team;
  CollectiveEngine* engine = nullptr;
  std::shared_ptr<CollectiveSession> session;
  std::vector<std::shared_ptr<CollectiveSession>> replaced;
  bool has_thrown = false;             // the last each(), in all processes
  std::vector<NativeStreams> streams;  // by local rank
};

Communicator::Communicator(const CommunicatorOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}

Communicator::~Communicator() = default;

int Communicator::size() const { return impl_->team.size(); }
int Communicator::local_size() const { return impl_->team.local_size(); }
int Communicator::first_local() const { return impl_->team.first_local(); }
std::string Communicator::failure() const { return impl_->team.failure(); }
void Communicator::fail(int rank, const std::string& why) { impl_->team.fail(rank, why); }
void Communicator::abandon(const std::string& why) {
  impl_->team.fail(first_local(), why);
  impl_->processes->leave();
}
void Communicator::forget(int number) { impl_->team.forget(number); }
int Communicator::on_failure(std::function<void(const std::string&)> notify) {
  return impl_->team.on_failure(std::move(notify));
}

RankGroups Communicator::divide(const std::vector<std::vector<int>>& groups) {
  require_division(groups, size());
  return RankGroups(std::make_unique<GroupSessions>(impl_->team, groups, *impl_->engine));
}

void Communicator::each(const std::function<void(LocalRank&)>& fn) {
  impl_->end_replaced();
  if (impl_->has_thrown) impl_->replace_session();
  impl_->has_thrown = true;
  impl_->team.each([&](Rank& rank) {
    LocalRank own(rank, impl_->session, impl_->streams[static_cast<std::size_t>(rank.local)]);
    fn(own);
  });
  impl_->has_thrown = false;
}

}  // namespace duet
