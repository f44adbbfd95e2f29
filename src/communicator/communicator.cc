#include "communicator/communicator.h"

#include <fmt/format.h>

#include <vector>

#include "collectives/engine.h"
#include "communicator/native_streams.h"
#include "team/agreement.h"
#include "team/own_device.h"

namespace duet {
namespace {

std::unique_ptr<Processes> join_run(const CommunicatorOptions& options) {
  Launch launch = find_launch();
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

}  // namespace

// The members' order is the order of construction, and of destruction in reverse.
struct Communicator::Impl {
  explicit Impl(const CommunicatorOptions& options)
      : processes(join_run(options)),
        machine(open_own(options.device, *processes)),
        team(*machine, {}, processes.get()) {
    team.set_network(options.network);
    team.set_node_size(options.node_size);
    require_one_engine(options.engine, *processes, options.deadline_seconds);
    CollectiveEngine* engine = nullptr;
    team.together([&] { engine = engines_named(*machine, {options.engine}).front(); });
    session = engine->open(team);
    for (int local = 0; local < team.local_size(); ++local) {
      streams.emplace_back(team.local_rank(local).device);
    }
  }

  std::unique_ptr<Processes> processes;
  std::unique_ptr<Machine> machine;
  Team team;
  std::unique_ptr<CollectiveSession> session;
  std::vector<NativeStreams> streams;  // by local rank
};

Communicator::Communicator(const CommunicatorOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}

Communicator::~Communicator() = default;

int Communicator::size() const { return impl_->team.size(); }
int Communicator::local_size() const { return impl_->team.local_size(); }
int Communicator::first_local() const { return impl_->team.first_local(); }
std::string Communicator::failure() const { return impl_->team.failure(); }

void Communicator::each(const std::function<void(LocalRank&)>& fn) {
  impl_->team.each([&](Rank& rank) {
    LocalRank own(rank, *impl_->session, impl_->streams[static_cast<std::size_t>(rank.local)]);
    fn(own);
  });
}

}  // namespace duet
