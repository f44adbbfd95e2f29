// neighbor_exchange in one node: a rank pushes its chunks into its neighbours' receive buffers.
//
//   rank r                                         next rank
//                                      <--ready--  "my receive buffer may be written"
//   computes what is sent
//   pushes its last chunk, signals     --come--->  waits
//   computes beside it
//
// Without `ready`, calls alternate: whoever has the neighbour's `come` of call k, in the other
// plan's buffers, knows that the neighbour has read what call k - 1 brought, and so may write there
// in call k + 1. The neighbour signals `come` of k + 1 only after this rank's of k, which follows
// this rank's wait for that of k - 1: a signal never finds the last one still there. A rank that is
// its own neighbour has nothing to wait for.
#include "collectives/schedule/algorithms/neighbor_pushes.h"

#include <fmt/format.h>

#include <utility>

namespace duet {

Move move_of(const AlgorithmInput& input, int rank, Direction direction) {
  for (const Move& move : moves_from(input.collective, rank, input.ranks)) {
    if ((move.to_offset == 0) == (direction == Direction::on)) return move;
  }
  const RingNeighbors neighbors = neighbors_of(input.collective, rank, input.ranks);
  return {rank, direction == Direction::on ? neighbors.next : neighbors.before, 0, 0, 0};
}

int sender_of(const AlgorithmInput& input, int rank, Direction direction) {
  const RingNeighbors neighbors = neighbors_of(input.collective, rank, input.ranks);
  return direction == Direction::on ? neighbors.before : neighbors.next;
}

void add_compute(ScheduleWriter& writer, const AlgorithmInput& input, ComputePart part) {
  const Neighbors& neighbors = input.collective.neighbors;
  if (!(part == ComputePart::before ? neighbors.computes : neighbors.computes_beside)) return;
  Step step;
  step.compute = part;
  writer.add(std::move(step));
}

namespace {

class NeighborPushes {
 public:
  explicit NeighborPushes(const AlgorithmInput& input)
      : input_(input),
        executor_(input.kernel_moves ? Executor::kernel : input.copying.executor),
        has_lanes_(!input.kernel_moves || input.collective.neighbors.computes_beside) {}

  RankSchedule schedule() {
    RankSchedule schedule;
    schedule.rank = input_.rank;
    schedule.ranks = input_.ranks;
    schedule.semaphores = {{"come", 2}};
    schedule.semaphores.back().for_every_rank = false;
    schedule.pushes_to_recv = true;
    schedule.algorithm = fmt::format("pushes by {}", name(executor_));
    ScheduleWriter writer(schedule);
    const bool asks = !input_.collective.neighbors.alternating;
    if (asks) {
      schedule.semaphores.push_back({"ready", 2});
      schedule.semaphores.back().for_every_rank = false;
      Step step;
      for (const Direction each : kDirections) {
        const int from = sender_of(input_, input_.rank, each);
        if (from != input_.rank) step.signals.push_back(of_direction(kReady, from, each));
      }
      writer.add(std::move(step));
    }
    add_compute(writer, input_, ComputePart::before);
    if (asks) writer.add(waits_for(kReady));
    push(writer);
    add_compute(writer, input_, ComputePart::beside);
    if (has_lanes_) {
      writer.join(1, 2, waits_for(kCome).waits);
    } else {
      writer.add(waits_for(kCome));
    }
    return schedule;
  }

 private:
  static constexpr int kCome = 0, kReady = 1;

  Step waits_for(int group) const {
    Step step;
    for (const Direction each : {Direction::on, Direction::back}) {
      const bool is_own = sender_of(input_, input_.rank, each) == input_.rank;
      if (!is_own) step.waits.push_back(of_direction(group, input_.rank, each));
    }
    return step;
  }

  // By compute units, with nothing beside them, on the caller's stream.
  void push(ScheduleWriter& writer) const {
    if (has_lanes_) writer.fork(1, 2);
    Step both;
    for (const Direction each : kDirections) {
      const Move move = move_of(input_, input_.rank, each);
      Step one;
      one.lane = 1 + static_cast<int>(each);
      Step& step = has_lanes_ ? one : both;
      if (move.bytes > 0) step.copies.push_back({target_of(move), source_of(move), executor_, {}});
      if (move.to != input_.rank) step.signals.push_back(of_direction(kCome, move.to, each));
      if (has_lanes_) writer.add(std::move(one));
    }
    if (!has_lanes_) writer.add(std::move(both));
  }

  const AlgorithmInput& input_;
  const Executor executor_;
  const bool has_lanes_;
};

}  // namespace

Algorithm neighbor_pushes() {
  return {"neighbor-pushes", is_of<CollectiveKind::neighbor_exchange>, made_by<NeighborPushes>};
}

}  // namespace duet
