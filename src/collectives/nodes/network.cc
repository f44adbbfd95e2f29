#include "collectives/nodes/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "collectives/nodes/wire_numbers.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/packing.h"
#include "core/thread.h"
#include "fabric/bounce/choose_memory_path.h"
#include "fabric/bounce/ipc_rail.h"
#include "fabric/library.h"
#include "fabric/polling_core.h"
#include "fabric/selection.h"
#include "team/agreement.h"

namespace duet {
namespace {

// Seconds without an event for which the proxy polls without a pause. In a call it may wait for a
// late peer or for work of its device, which kDoze then delays by a hundredth at most.
constexpr double kPollBetweenCalls = 1e-3, kPollInCalls = 5e-3;
constexpr double kLinger = 0.1;  // seconds without an event, before rails are closed
constexpr double kLongestLinger = 2;
constexpr std::chrono::microseconds kDoze{50};

// What endpoints() packs: the region of notes, the names of the rails, and each rail's endpoint.
constexpr std::size_t kRegion = 0, kRailNames = 1, kFirstRail = 2;

constexpr const char* kDefaultProvider = "tcp;ofi_rxm";

std::string peer_rank(const NodeMap& map, int node, int local) {
  return fmt::format("rank {} on node {}", map.rank(node, local), node);
}

NetworkOptions with_provider(NetworkOptions options) {
  if (options.provider.empty()) options.provider = kDefaultProvider;
  return options;
}

// Where a NIC's writes may overtake the news of them, copy engines could read what was there
// before: such devices' memory is staged.
MemoryPath choose_path(Processes& processes, const NetworkOptions& options, Device& device) {
  std::optional<MemoryPath> wanted;
  if (options.staged) wanted = MemoryPath::staged;
  const MemoryPath path = choose_memory_path(processes, options.provider, device, wanted);
  const DeviceInfo& info = device.info();
  const bool ordered = info.cpu_addressable || info.network_writes_ordered;
  return path == MemoryPath::direct && !ordered ? MemoryPath::staged : path;
}

}  // namespace

std::string why_not_over_rails(Team& team, const NodeMap& map) {
  constexpr const char* kSeveral = "ranks of several nodes: ";
  const std::string unequal = map.not_uniform();
  if (!unequal.empty()) return kSeveral + unequal;
  if (team.processes() == nullptr) {
    return fmt::format("{}over rails: expected several processes", kSeveral);
  }
  return "";
}

std::vector<std::unique_ptr<Network>> open_networks(Team& team, const NodeMap& map) {
  Processes& processes = *team.processes();
  const MemoryPath path =
      choose_path(processes, with_provider(team.network()), team.device(team.first_local()));
  std::vector<std::unique_ptr<Network>> networks;
  run_together(processes, [&] {
    std::vector<std::string> mine;
    for (int local = 0; local < team.local_size(); ++local) {
      networks.push_back(std::make_unique<Network>(team, map, team.first_local() + local, path));
      mine.push_back(networks.back()->endpoints());
    }
    const std::vector<std::string> all = team.texts_of_ranks(mine, "all processes to open rails");
    for (const auto& network : networks) network->connect(all);
  });
  return networks;
}

bool all_well(const std::vector<std::unique_ptr<Network>>& networks) {
  return std::all_of(networks.begin(), networks.end(),
                     [](const auto& each) { return each->well(); });
}

Network::Network(Team& team, const NodeMap& map, int rank, MemoryPath path)
    : team_(team), map_(map), rank_(rank), node_(map.node(rank)), path_(path) {
  open_rails();
}

std::string Network::endpoints() const {
  std::vector<std::string> names;
  for (const RailInfo& info : infos_) names.push_back(rail_name(info));
  std::vector<std::string> all{failover_->descriptors(), pack(names)};
  for (int rail = 0; rail < rails_->size(); ++rail) all.push_back(rails_->at(rail).endpoint());
  return pack(all);
}

Network::~Network() {
  team_.forget(on_failure_);
  if (!proxy_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  proxy_.join();
}

std::unique_ptr<Rail> Network::open_rail(const std::string& provider, const RailInfo& info) const {
  Device& device = team_.device(rank_);
  const bool gpu = path_ == MemoryPath::direct && !device.info().cpu_addressable;
  std::unique_ptr<Rail> rail = fabric_library().open(provider, info, gpu);
  if (path_ != MemoryPath::ipc) return rail;
  return std::make_unique<IpcRail>(std::move(rail), device, node_);
}

std::vector<RailInfo> Network::own_share(const std::vector<RailInfo>& all) const {
  return share_rails(all, map_.local(rank_), map_.node_size());
}

void Network::open_rails() {
  const NetworkOptions options = with_provider(team_.network());
  std::vector<RailInfo> there = fabric_library().rails(options.provider);
  const DeviceInfo& device = team_.device(rank_).info();
  describe_rails(there, device.bus);
  infos_ = own_share(select_rails(std::move(there), options.rails, -1));
  std::vector<std::unique_ptr<Rail>> open;
  std::vector<std::string> names;
  for (const RailInfo& info : infos_) {
    open.push_back(open_rail(options.provider, info));
    names.push_back(rail_name(info));
  }
  description_ = fmt::format("{}, {} {}", options.provider, infos_.size(),
                             infos_.size() == 1 ? "rail" : "rails");
  if (path_ != MemoryPath::staged && !device.cpu_addressable) {
    description_ += fmt::format(", {}", name(path_));
  }
  rails_ = std::make_unique<RailSet>(std::move(open), std::move(names));
  TrafficOptions traffic;
  traffic.stall_seconds = options.stall_seconds;
  traffic.failover = options.failover;
  traffic.now = steady_now;
  traffic.peer_name = [this](int node) { return peer_rank(map_, node, map_.local(rank_)); };
  traffic_ = std::make_unique<Traffic>(*rails_, traffic);
  failover_ = std::make_unique<Failover>(*rails_, *traffic_, node_, map_.nodes());
  failover_->peer_name = traffic.peer_name;
  failover_->has_come = [this](std::uint32_t value) { return has_come(value); };
  traffic_->on_arrival = [this](std::uint32_t value) { arrived(value); };
}

void Network::arrived(std::uint32_t value) {
  if (Note::is(value)) return failover_->arrived(Note::of(value));
  const WireImmediate immediate = WireImmediate::of(value);
  const auto found = drivers_.find(immediate.wire);
  if (found == drivers_.end()) throw Error("a message has come for a plan that has ended");
  found->second->arrived(immediate.number, immediate.odd_call);
}

bool Network::has_come(std::uint32_t value) const {
  const WireImmediate immediate = WireImmediate::of(value);
  const auto found = drivers_.find(immediate.wire);
  return found == drivers_.end() || found->second->has_come(immediate.number, immediate.odd_call);
}

double Network::gbit_per_s() const {
  double sum = 0;
  for (const RailInfo& info : infos_) {
    const double link = team_.network().link_gbit;
    const double rail = link > 0 ? link : info.gbit_per_s;
    if (rail <= 0) return 0;
    sum += rail / users_.at(rail_name(info));
  }
  return sum;
}

void Network::count_users(const std::vector<std::string>& all) {
  for (int local = 0; local < map_.node_size(); ++local) {
    const auto rank = static_cast<std::size_t>(map_.rank(node_, local));
    for (const std::string& name : unpack(unpack(all.at(rank)).at(kRailNames))) ++users_[name];
  }
}

void Network::connect(const std::vector<std::string>& all) {
  count_users(all);
  std::vector<std::string> regions;
  for (int node = 0; node < map_.nodes(); ++node) {
    const int peer = map_.rank(node, map_.local(rank_));
    const std::vector<std::string> theirs = unpack(all.at(static_cast<std::size_t>(peer)));
    regions.push_back(theirs.at(kRegion));
    const std::size_t rails = theirs.size() - kFirstRail;
    if (rails != static_cast<std::size_t>(rails_->size())) {
      throw UsageError(fmt::format("rank {} has {} rails and {} has {}: expected as many", rank_,
                                   rails_->size(), peer_rank(map_, node, map_.local(rank_)),
                                   rails));
    }
    for (int rail = 0; node != node_ && rail < rails_->size(); ++rail) {
      rails_->at(rail).connect(node, theirs[kFirstRail + static_cast<std::size_t>(rail)]);
    }
  }
  failover_->import_all(regions);
  on_failure_ = team_.on_failure([this](const std::string&) { failed_ = true; });
  proxy_ = start_thread("the proxy, which owns the rails", [this] { drive(); });
}

std::string Network::wire_numbers() {
  if (!well()) {
    throw PeerFailed(
        "a rank has failed, and the rails of the session are closed: open another session");
  }
  WireNumbers numbers{next_wire_, {}};
  run([&] {
    for (const auto& [wire, driver] : drivers_) numbers.in_use.push_back(wire);
  });
  return numbers.text();
}

std::uint32_t Network::take_wire_number(const std::vector<std::string>& of_column) {
  const auto number = choose_wire_number(of_column, WireImmediate::kWires);
  if (!number) {
    throw Unavailable(fmt::format(
        "over rails at most {} plans at a time, all_reduces counted twice", WireImmediate::kWires));
  }
  next_wire_ = *number + 1;
  return *number;
}

std::vector<std::string> Network::take_losses() {
  std::vector<std::string> losses;
  run([&] {
    if (failover_ != nullptr) losses = failover_->reasons();
  });
  losses.erase(losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(
                                                    std::min(losses_taken_, losses.size())));
  losses_taken_ += losses.size();
  return losses;
}

void Network::add(std::uint32_t wire, WireDriver& driver) { drivers_[wire] = &driver; }

void Network::run(const std::function<void()>& fn) {
  Job job{&fn, nullptr, false};
  std::unique_lock<std::mutex> lock(mutex_);
  jobs_.push_back(&job);
  changed_.notify_all();
  changed_.wait(lock, [&] { return job.done; });
  if (job.error != nullptr) std::rethrow_exception(job.error);
}

// Whether there were any.
bool Network::run_jobs() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (jobs_.empty()) return false;
  Job* job = jobs_.front();
  jobs_.pop_front();
  lock.unlock();
  try {
    (*job->fn)();
  } catch (...) {
    job->error = std::current_exception();
  }
  lock.lock();
  job->done = true;
  changed_.notify_all();
  return true;
}

bool Network::step() {
  bool found = traffic_->progress();
  found = failover_->progress() || found;
  for (const auto& [wire, driver] : drivers_) found = driver->progress() || found;
  return found;
}

void Network::close() {
  if (std::exchange(closed_, true)) return;
  if (well()) {
    rails_->close();
  } else {
    for (const int rail : rails_->all_living()) rails_->lose(rail);
  }
}

void Network::fail(const std::string& what) {
  failed_ = true;
  team_.fail(rank_, what);
}

// Where nothing comes for long it sleeps for a moment now and then. Where no wire is left it still
// polls: peers may wait for the acknowledgement of their last message.
void Network::drive() {
  PollingCore core(std::nullopt);
  double found_at = steady_now(), stopped_at = 0;
  while (true) {
    while (run_jobs()) {
    }
    const double now = steady_now();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (stop_ && stopped_at == 0) stopped_at = now;
      const bool lingers = well() && now - found_at < kLinger && now - stopped_at < kLongestLinger;
      if (stop_ && !lingers) break;
    }
    bool found = false;
    if (well()) {
      try {
        found = step();
      } catch (const std::exception& error) {
        fail(error.what());
      }
    }
    if (!well()) {
      close();
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
      continue;
    }
    if (found) found_at = now;
    const bool active = std::any_of(drivers_.begin(), drivers_.end(),
                                    [](const auto& each) { return each.second->active(); });
    if (now - found_at < (active ? kPollInCalls : kPollBetweenCalls)) {
      core.polled(found);
    } else {
      std::this_thread::sleep_for(kDoze);
    }
  }
  close();
  failover_.reset();
  traffic_.reset();
  rails_.reset();
}

}  // namespace duet
