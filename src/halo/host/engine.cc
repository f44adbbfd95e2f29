// An iteration: a rank sweeps all its rows, signals, waits for both neighbours, and copies their
// boundary rows into its own halo. It needs no answer: the rows that a neighbour copies are
// overwritten in the iteration after the next, which begins after that neighbour's next signal.
#include "halo/host/engine.h"

#include <fmt/format.h>

#include "device/device.h"
#include "team/failure_flag.h"

namespace duet {
namespace {

struct FieldPair {
  FieldShape shape;
  Span field[2];
};

// State of a rank that its neighbours read.
struct RingMember {
  Buffer word;              // a semaphore that counts iterations
  std::uint64_t count = 0;  // iterations enqueued by this rank; used by its own thread alone
  FieldPair fields;         // valid while the rank has a plan
};

class HostHaloPlan : public HaloPlan {
 public:
  HostHaloPlan(Rank& rank, std::vector<RingMember>& members, const HaloTask& task)
      : rank_(rank.index),
        members_(members),
        ring_(ring_of(rank, task.grid)),
        sweeper_(make_sweeper(rank.device)) {
    own_.shape = {task.grid.nx, rows_of(task.grid, ring_.index).count};
    memory_ = rank.device.allocate(2 * own_.shape.bytes());
    for (const std::size_t parity : {0, 1}) {
      own_.field[parity] = memory_.slice(parity * own_.shape.bytes(), own_.shape.bytes());
    }
    member(rank_).fields = own_;
    rank.team.barrier("the other ranks' fields");
    above_ = member(ring_.above).fields;
    below_ = member(ring_.below).fields;
    rank.team.barrier("the other ranks to have seen the fields");
  }

  const FieldShape& shape() const override { return own_.shape; }
  Span field(int parity) const override { return own_.field[parity]; }
  std::int64_t partials() const override {
    return sweeper_->partials(shape(), {1, shape().rows + 1}, {});
  }

  void enqueue(Stream& stream, const Iteration& iteration) override {
    const int written = 1 - iteration.parity;
    RingMember& own = member(rank_);
    sweeper_->sweep(stream, {shape(),
                             field(iteration.parity),
                             field(written),
                             {1, shape().rows + 1},
                             {},
                             iteration.partials});
    const std::uint64_t count = ++own.count;
    stream.signal(semaphore_at(own.word, 0), count);
    for (const int neighbour : {ring_.above, ring_.below}) {
      stream.wait(semaphore_at(member(neighbour).word, 0), count);
    }
    take(stream, 0, row_at(above_.field[written], above_.shape, above_.shape.rows), written);
    take(stream, shape().rows + 1, row_at(below_.field[written], below_.shape, 1), written);
  }

  std::string algorithm() const override { return "pulls behind the whole sweep"; }

 private:
  RingMember& member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

  void take(Stream& stream, std::int64_t row, const Span& from, int parity) {
    stream.copy({row_at(field(parity), shape(), row), from, Executor::dma, {}});
  }

  int rank_;
  std::vector<RingMember>& members_;
  Ring ring_;
  std::unique_ptr<Sweeper> sweeper_;
  Buffer memory_;  // both fields
  FieldPair own_, above_, below_;
};

class HostHaloSession : public HaloSession {
 public:
  explicit HostHaloSession(Team& team)
      : failure_(team), members_(static_cast<std::size_t>(team.size())) {
    for (int rank = 0; rank < team.size(); ++rank) {
      const std::uint64_t zero = 0;
      RingMember& member = members_[static_cast<std::size_t>(rank)];
      member.word = team.device(rank).allocate(sizeof zero);
      team.device(rank).write(member.word.span(), &zero);
    }
  }

  std::optional<Skipped> unsupported(const HaloTask& task) const override {
    if (!task.overlap) return std::nullopt;
    return Skipped{"the reference has no overlap: it sweeps, and then exchanges"};
  }
  std::optional<Skipped> uncapturable() const override {
    return Skipped{"its semaphores count iterations, and a graph would repeat the count"};
  }

  // After a failure the ranks may have counted different iterations.
  bool usable() const override { return !failure_.failed(); }

 protected:
  std::unique_ptr<HaloPlan> make_plan(Rank& rank, const HaloTask& task) override {
    return std::make_unique<HostHaloPlan>(rank, members_, task);
  }

 private:
  FailureFlag failure_;
  std::vector<RingMember> members_;
};

class HostHaloEngine : public HaloEngine {
 public:
  std::string name() const override { return "host"; }
  std::string device_kind() const override { return "host"; }
  std::string gathers_by() const override { return "host"; }
  std::unique_ptr<HaloSession> open(Team& team) override {
    if (team.processes() != nullptr) {
      throw Unavailable(
          fmt::format("host: its ranks read each other's memory as threads of one process, not {}",
                      team.processes()->size()));
    }
    return std::make_unique<HostHaloSession>(team);
  }
};

}  // namespace

std::unique_ptr<HaloEngine> make_host_halo() { return std::make_unique<HostHaloEngine>(); }

}  // namespace duet
