#include "fabric/session.h"

#include <fmt/format.h>

#include "core/clock.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/packing.h"
#include "fabric/bounce/ipc_rail.h"
#include "fabric/library.h"
#include "fabric/polling_core.h"
#include "fabric/selection.h"
#include "team/agreement.h"

namespace duet {
namespace {

constexpr std::uint64_t kReadyBytes = 8;
constexpr std::uint64_t kReceived = 64;  // offset of received messages; sent ones are at 0
// A token is an iteration's number and a peer; of sent messages, kNoPeer.
constexpr int kPeerBits = 20;
constexpr std::uint64_t kNoPeer = (1ull << kPeerBits) - 1;

std::string process_name(int index) { return fmt::format("process {}", index); }

std::string packed(const std::map<int, std::string>& losses) {
  std::vector<std::string> items;
  for (const auto& [rail, reason] : losses) {
    items.push_back(std::to_string(rail));
    items.push_back(reason);
  }
  return pack(items);
}

std::vector<RailInfo> chosen_rails(const FabricSettings& settings, const DeviceInfo& device) {
  std::vector<RailInfo> there = fabric_library().rails(settings.provider);
  describe_rails(there, device.bus);
  std::vector<RailInfo> chosen = select_rails(std::move(there), settings.rails, device.numa_node);
  for (RailInfo& rail : chosen) {
    if (settings.link_gbit > 0) rail.gbit_per_s = settings.link_gbit;
  }
  return chosen;
}

}  // namespace

PeerReadiness::PeerReadiness(Traffic& traffic, RailSet& rails, int self)
    : traffic_(traffic),
      self_(self),
      region_(rails, {nullptr, bytes_.data(), bytes_.size(), MemoryKind::pageable}, self) {}

RailPost PeerReadiness::post(RailCall call, std::uint64_t number, int peer, int rail) {
  RailPost post;
  post.call = call;
  post.peer = peer;
  post.data = bytes_.data() + (call == RailCall::receive ? kReceived : 0);
  post.bytes = kReadyBytes;
  post.memory = region_.memory(rail);
  const int sender = call == RailCall::receive ? peer : self_;
  post.tag = number << kPeerBits | static_cast<std::uint64_t>(sender);
  return post;
}

void PeerReadiness::expect(std::uint64_t number, const std::vector<int>& peers,
                           const std::vector<int>& rails) {
  number_ = number;
  missing_ = {peers.begin(), peers.end()};
  for (const int peer : peers) {
    const std::uint64_t token = number << kPeerBits | static_cast<std::uint64_t>(peer);
    for (const int rail : rails) {
      traffic_.queue_control(rail, post(RailCall::receive, number, peer, rail), *this, token);
    }
  }
}

void PeerReadiness::announce(std::uint64_t number, const std::vector<int>& peers,
                             const std::vector<int>& rails) {
  for (const int peer : peers) {
    for (const int rail : rails) {
      traffic_.queue_control(rail, post(RailCall::send, number, peer, rail), *this, kNoPeer);
    }
  }
}

// Messages of earlier iterations may still come over a slow rail.
void PeerReadiness::ended(std::uint64_t token) {
  const std::uint64_t peer = token & kNoPeer;
  if (peer != kNoPeer && token >> kPeerBits == number_) missing_.erase(static_cast<int>(peer));
}

FabricSession::FabricSession(Processes& processes, const FabricSettings& settings,
                             const DeviceInfo& device)
    : processes_(processes), settings_(settings) {
  std::vector<std::string> counts;
  std::vector<UsableCores> cores;
  run_together(processes_, [&] {
    infos_ = chosen_rails(settings_, device);
    const std::string mine =
        pack({std::to_string(infos_.size()), usable_cores(device.numa_node).text()});
    for (const std::string& each :
         processes_.gather_all(mine, "all processes to find rails", kDefaultDeadlineSeconds)) {
      const std::vector<std::string> items = unpack(each);
      counts.push_back(items.at(0));
      cores.push_back(UsableCores::parse(items.at(1)));
    }
  });
  for (std::size_t i = 1; i < counts.size(); ++i) {
    if (counts[i] == counts[0]) continue;
    throw UsageError(fmt::format("process 0 has {} rails and process {} has {}: expected as many",
                                 counts[0], i, counts[i]));
  }
  core_ = choose_core(cores, static_cast<std::size_t>(processes_.index()));
}

FabricSession::~FabricSession() { close(); }

std::vector<int> FabricSession::peers() const {
  std::vector<int> others;
  for (int i = 0; i < processes_.size(); ++i) {
    if (i != processes_.index()) others.push_back(i);
  }
  return others;
}

std::unique_ptr<Rail> FabricSession::open_rail(
    const RailInfo& info, const MemoryAccess& access,
    const std::shared_ptr<BounceBuffers>& bounce_buffers) const {
  auto rail = fabric_library().open(settings_.provider, info, access.gpu_memory);
  switch (access.path) {
    case MemoryPath::ipc:
      return std::make_unique<IpcRail>(std::move(rail), *access.device, processes_.index());
    case MemoryPath::staged:
      return std::make_unique<StagedRail>(std::move(rail), *access.device, processes_.index(),
                                          bounce_buffers);
    default:
      return rail;
  }
}

void FabricSession::open(Device& device, MemoryKind memory, MemoryPath path) {
  const bool followed = memory != MemoryKind::device || device.info().cpu_addressable;
  const MemoryAccess access{&device, path, path == MemoryPath::direct && !followed};
  if (rails_ != nullptr && access == access_) return;
  close();
  access_ = access;
  share_losses();
  const auto bounce_buffers = std::make_shared<BounceBuffers>();
  std::vector<std::unique_ptr<Rail>> open;
  std::vector<std::string> names;
  for (int i = 0; i < rail_count(); ++i) {
    const RailInfo& info = infos_[static_cast<std::size_t>(i)];
    const bool lost = lost_.count(i) > 0;
    open.push_back(lost ? nullptr : open_rail(info, access, bounce_buffers));
    names.push_back(rail_name(info));
  }
  rails_ = std::make_unique<RailSet>(std::move(open), std::move(names));
  iterations_ = 0;
  exchange_endpoints();
  TrafficOptions options;
  options.stall_seconds = settings_.stall_seconds;
  options.failover = settings_.failover;
  options.now = steady_now;
  options.peer_name = process_name;
  traffic_ = std::make_unique<Traffic>(*rails_, options);
  readiness_ = std::make_unique<PeerReadiness>(*traffic_, *rails_, processes_.index());
}

// Gathers all processes' losses: the process that failed may be the only one that lost the rail.
void FabricSession::share_losses() {
  for (const std::string& each : processes_.gather_all(packed(lost_), "all processes to open rails",
                                                       kDefaultDeadlineSeconds)) {
    add_losses(each);
  }
}

void FabricSession::add_losses(const std::string& packed) {
  const std::vector<std::string> items = unpack(packed);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    lost_.emplace(std::stoi(items[i]), items[i + 1]);
  }
}

void FabricSession::exchange_endpoints() {
  std::vector<std::string> own;
  for (int i = 0; i < rail_count(); ++i) {
    own.push_back(rails_->living(i) ? rails_->at(i).endpoint() : "");
  }
  const auto all =
      processes_.gather_all(pack(own), "all processes to open rails", kDefaultDeadlineSeconds);
  for (const int peer : peers()) {
    const std::vector<std::string> theirs = unpack(all.at(static_cast<std::size_t>(peer)));
    for (const int rail : rails_->all_living()) {
      rails_->at(rail).connect(peer, theirs.at(static_cast<std::size_t>(rail)));
    }
  }
}

// Rails first: their operations in flight refer to traffic_ and readiness_.
void FabricSession::abandon() noexcept {
  if (rails_ == nullptr) return;
  for (const int rail : rails_->all_living()) rails_->lose(rail);
  close();
}

void FabricSession::close() noexcept {
  if (rails_ == nullptr) return;
  remember_losses();
  rails_->close();
  readiness_.reset();
  traffic_.reset();
  rails_.reset();
}

void FabricSession::remember_losses() noexcept {
  if (traffic_ == nullptr) return;
  for (const auto& [rail, reason] : traffic_->losses()) lost_.emplace(rail, reason);
}

double FabricSession::link_gbit(RailMode mode) const {
  double sum = 0;
  for (const RailInfo& info : infos_) {
    if (info.gbit_per_s <= 0) return 0;
    sum += info.gbit_per_s;
    if (mode == RailMode::single) break;
  }
  return sum;
}

std::string FabricSession::losses() const { return packed(traffic_->losses()); }

void FabricSession::apply_losses(const std::string& losses) {
  add_losses(losses);
  for (const auto& [rail, reason] : lost_) rails_->lose(rail);
  if (rails_->all_living().empty()) {
    throw Timeout("no rail is left: " + lost_.begin()->second);
  }
}

void FabricSession::require(RailMode mode) const {
  if (settings_.failover) return;
  for (const auto& [rail, reason] : lost_) {
    if (mode != RailMode::single || rail == 0) throw Error("lost before: " + reason);
  }
}

std::vector<std::string> FabricSession::loss_reasons() const {
  std::vector<std::string> all;
  for (const auto& [rail, reason] : lost_) all.push_back(reason);
  return all;
}

}  // namespace duet
