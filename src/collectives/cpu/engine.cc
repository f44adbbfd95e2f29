// A call: every rank signals `ready` and waits for those from which something comes. It then copies
// or reduces its own part from their send buffers, signals `done` and waits for those that read
// here. A rank that runs in place first copies its send buffer aside, where results overwrite it;
// the other ranks read the copy.
#include "collectives/engine.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <set>

#include "collectives/own_engines.h"
#include "collectives/session/session_plans.h"
#include "device/device.h"
#include "device/reduce.h"
#include "team/failure_flag.h"
#include "team/peer_memory.h"

namespace duet {
namespace {

// State of a rank that the other ranks of its session read. The semaphores count calls: each call
// increments them by one.
struct Member {
  Buffer words;             // two semaphores
  std::uint64_t calls = 0;  // calls enqueued by this rank; used by its own thread alone
  Span source;              // where peers read the send data; valid while a plan is made
  Semaphore ready() const { return semaphore_at(words, 0); }
  Semaphore done() const { return semaphore_at(words, 1); }
};

class HostPlan : public CollectivePlan, private DeviceWaits {
 public:
  HostPlan(Rank& rank, std::vector<Member>& members, const Collective& collective,
           const CollectiveBuffers& buffers, Watchdog& watchdog)
      : device_(rank.device),
        me_(rank.index),
        members_(members),
        collective_(collective),
        buffers_(buffers) {
    const auto make_copy = [&] {
      const bool overwrites = collective.kind != CollectiveKind::neighbor_exchange;
      return in_place(buffers) && overwrites ? rank.device.allocate(buffers.send.bytes) : Buffer();
    };
    offered_.emplace(rank, make_copy, "the other ranks' copies of what they send");
    member(me_).source = is_staged() ? copy() : buffers.send;
    rank.team.barrier("the other ranks' buffers");
    for (const Member& each : members_) sources_.push_back(each.source);
    rank.team.barrier("the other ranks to have seen the buffers");
    if (!reduces(collective_.kind)) moves_ = moves(collective_, ranks());
    find_partners();
    DeviceWaits& waits = *this;
    watched_.emplace(watchdog, waits);
  }

  void enqueue(Stream& stream) override {
    Member& own = member(me_);
    const std::uint64_t call = ++own.calls;
    if (is_staged()) stream.copy({copy(), buffers_.send, Executor::dma, {}});
    stream.signal(own.ready(), call);
    for (const int each : senders_) stream.wait(member(each).ready(), call);
    if (reduces(collective_.kind)) {
      reduce_own(stream);
    } else {
      take_own(stream);
    }
    stream.signal(own.done(), call);
    for (const int each : receivers_) stream.wait(member(each).done(), call);
  }

  std::string algorithm() const override {
    return is_staged() ? "direct reads of copies" : "direct reads";
  }

  double wire_bytes() const override {
    double bytes = 0;
    for (const Move& move : moves_) {
      if (move.from == me_ && move.to != me_) bytes += static_cast<double>(move.bytes);
    }
    if (!reduces(collective_.kind)) return bytes;
    const double part = static_cast<double>(buffers_.recv.bytes);
    return part * (ranks() - 1);
  }

 private:
  int ranks() const { return static_cast<int>(members_.size()); }
  bool is_staged() const { return copy().bytes > 0; }
  const Span& copy() const { return offered_->own().span(); }
  Member& member(int rank) { return members_[static_cast<std::size_t>(rank)]; }

  // Of a reduction all ranks are both.
  void find_partners() {
    if (reduces(collective_.kind)) {
      for (int rank = 0; rank < ranks(); ++rank) senders_.insert(rank);
      receivers_ = senders_;
    }
    for (const Move& move : moves_) {
      if (move.to == me_) senders_.insert(move.from);
      if (move.from == me_) receivers_.insert(move.to);
    }
  }

  void take_own(Stream& stream) {
    for (const Move& move : moves_) {
      if (move.to != me_) continue;
      const Span to = buffers_.recv.slice(move.to_offset, move.bytes);
      const Span from =
          sources_[static_cast<std::size_t>(move.from)].slice(move.from_offset, move.bytes);
      if (to.data != from.data) stream.copy({to, from, Executor::dma, {}});
    }
  }

  void reduce_own(Stream& stream) {
    const std::size_t bytes = buffers_.recv.bytes;
    const bool scattered = collective_.kind == CollectiveKind::reduce_scatter;
    const std::size_t begin = scattered ? bytes * static_cast<std::size_t>(me_) : 0;
    std::vector<const std::byte*> inputs;
    for (const Span& source : sources_) inputs.push_back(source.data + begin);
    Task task;
    task.name = "reduce";
    task.demand.memory_bytes = static_cast<double>(bytes) * (ranks() + 1);
    task.body = [this, inputs, bytes] {
      reduce(collective_.dtype, collective_.op, inputs, buffers_.recv.data,
             bytes / size_of(collective_.dtype));
    };
    stream.run(task);
  }

  // Those of this rank for any other, which may no longer have its plan.
  void release_waits() noexcept override {
    constexpr std::uint64_t kAnyCall = std::numeric_limits<std::int64_t>::max();
    try {
      for (const Member& each : members_) {
        device_.signal(each.ready(), kAnyCall);
        device_.signal(each.done(), kAnyCall);
      }
    } catch (const std::exception&) {
      // The device is gone, and its streams with it.
    }
  }

  Device& device_;
  int me_;
  std::vector<Member>& members_;
  Collective collective_;
  CollectiveBuffers buffers_;
  std::optional<OfferedMemory> offered_;  // copy of the send buffer; empty out of place
  std::vector<Span> sources_;             // where to read each rank's send data
  std::vector<Move> moves_;
  std::set<int> senders_, receivers_;  // ranks from which something comes, and to which it goes
  std::optional<Watched> watched_;
};

class HostSession : public CollectiveSession {
 public:
  explicit HostSession(Team& team)
      : failure_(team),
        members_(static_cast<std::size_t>(team.size())),
        plans_(std::make_shared<SessionPlans>(team)) {
    for (int rank = 0; rank < team.size(); ++rank) {
      const std::uint64_t zeros[2] = {0, 0};
      Member& member = members_[static_cast<std::size_t>(rank)];
      member.words = team.device(rank).allocate(sizeof zeros);
      team.device(rank).write(member.words.span(), zeros);
    }
  }

  std::optional<Skipped> unsupported(const Collective&, bool) const override {
    return std::nullopt;
  }

  std::optional<Skipped> uncapturable() const override {
    return Skipped{"its semaphores count calls, and a graph would repeat the count"};
  }

  // After a failure the ranks may have counted different calls.
  bool usable() const override { return !failure_.failed(); }

  std::unique_ptr<CollectiveMemory> allocate(Rank& rank, std::uint64_t bytes) override {
    return std::make_unique<SessionMemory>(plans_, rank.device.allocate(bytes));
  }

 protected:
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>&) override {
    return plans_->hand_out(
        rank, std::make_unique<HostPlan>(rank, members_, collective, buffers, plans_->watchdog()),
        name(collective.kind));
  }

 private:
  FailureFlag failure_;
  std::vector<Member> members_;
  std::shared_ptr<SessionPlans> plans_;
};

class HostEngine : public CollectiveEngine {
 public:
  std::string name() const override { return "host"; }
  std::string device_kind() const override { return "host"; }
  std::unique_ptr<CollectiveSession> open(Team& team) override {
    if (team.processes() != nullptr) {
      throw Unavailable(
          fmt::format("host: its ranks read each other's memory as threads of one process, not {}",
                      team.processes()->size()));
    }
    return std::make_unique<HostSession>(team);
  }
};

}  // namespace

std::unique_ptr<CollectiveEngine> make_host_collectives() { return std::make_unique<HostEngine>(); }

}  // namespace duet
