// A broadcast by copy engines, as a pipeline: a rank that has received a piece passes it on while
// it receives the next one. Lane copying.count is the root's local copy's.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/algorithms/broadcast_pieces.h"
#include "collectives/schedule/algorithms/copy_order.h"

namespace duet {
namespace {

// "May be written", "all has been written", and of each piece at a rank that passes it on "has
// arrived": one for all its pushes of it in order, else one for each.
constexpr int kGreeted = 0, kWritten = 1, kArrived = 2;

// The root's local copy must not take longer than the links, which carry the buffer once. The 8
// blocks of 512 threads of other collectives would be the slowest part, most of all where every
// link of the root carries a share.
KernelShape root_copy_shape(bool shared_link) { return {shared_link ? 16 : 32, 1024}; }

std::vector<ByteRange> pieces_of(const AlgorithmInput& input) {
  const std::uint64_t bytes = size_bytes(input.collective, input.ranks);
  std::vector<ByteRange> pieces;
  if (input.largest_piece == 0) pieces = broadcast_pieces(bytes, input.ranks, input.copying);
  if (!pieces.empty()) return pieces;  // else pushes to all take less time
  const std::uint64_t largest = input.largest_piece > 0 ? input.largest_piece : bytes;
  for (std::uint64_t begin = 0; begin < bytes; begin += largest) {
    pieces.push_back({begin, std::min(largest, bytes - begin)});
  }
  return pieces;
}

class BroadcastPipeline {
 public:
  explicit BroadcastPipeline(const AlgorithmInput& input)
      : input_(input),
        ranges_(pieces_of(input)),
        rank_(input.rank),
        ranks_(input.ranks),
        others_(input.ranks - 1),
        pieces_(static_cast<int>(ranges_.size())),
        in_order_(input.copying.in_order),
        parts_(in_order_ ? 1 : others_ - 1),
        pushes_(in_order_ ? passed_round(pieces_, others_) : dealt_out(pieces_, others_)),
        passes_on_(index_of(ranks_ * pieces_), false) {
    for (const RelayPush& push : pushes_) passes_on_[at(push.from, push.piece)] = true;
  }

  RankSchedule schedule() {
    RankSchedule schedule;
    schedule.rank = rank_;
    schedule.ranks = ranks_;
    schedule.semaphores = {{"ready"}, {"done"}, {"arrived", pieces_ * parts_, 0, false, false}};
    schedule.pushes_to_recv = true;
    schedule.algorithm = text();
    ScheduleWriter writer(schedule);
    Step begin;
    for (const int from : senders(false)) begin.signals.push_back({kGreeted, from, rank_, 0});
    writer.add(std::move(begin));
    const int lanes = input_.copying.count, side = lanes - 1 + (has_local_copy() ? 1 : 0);
    writer.fork(1, side);
    if (has_local_copy()) copy_local(writer);
    CopyOrder copies(writer, 0, lanes, in_order_);
    copies.set_needed();
    push_all(copies);
    writer.join(1, side);
    end(writer);
    return schedule;
  }

 private:
  // The other ranks are numbered from the one after the root; the root has the last number.
  int number_of(int rank) const { return (rank - input_.collective.root + others_) % ranks_; }
  int rank_of(int number) const { return (input_.collective.root + 1 + number) % ranks_; }
  std::size_t at(int number, int piece) const { return index_of(number * pieces_ + piece); }
  bool is_root() const { return rank_ == input_.collective.root; }
  bool has_local_copy() const { return is_root() && !input_.in_place && pieces_ > 0; }
  const ByteRange& piece(int index) const { return ranges_[index_of(index)]; }
  SemaphoreAt arrived(int owner, int piece, int part) const {
    return {kArrived, owner, 0, piece * parts_ + part};
  }

  // That push to this rank; `last_only`: what it does not pass on.
  std::set<int> senders(bool last_only) const {
    std::set<int> ranks;
    const int number = number_of(rank_);
    for (const RelayPush& push : pushes_) {
      if (push.to != number || (last_only && passes_on_[at(push.to, push.piece)])) continue;
      ranks.insert(rank_of(push.from));
    }
    return ranks;
  }

  void copy_local(ScheduleWriter& writer) const {
    const ByteRange& last = ranges_.back();
    const std::uint64_t bytes = last.begin + last.bytes;
    Step step;
    step.lane = input_.copying.count;
    step.copies = {{{BufferRole::recv, rank_, 0, bytes},
                    {BufferRole::send, rank_, 0, bytes},
                    Executor::kernel,
                    root_copy_shape(in_order_)}};
    writer.add(std::move(step));
  }

  void push_all(CopyOrder& copies) {
    int part = 0, last_piece = -1;
    for (const RelayPush& push : pushes_) {
      if (push.from != number_of(rank_)) continue;
      part = push.piece == last_piece ? part + 1 : 0;
      last_piece = push.piece;
      const int to = rank_of(push.to);
      copies.add(step_of(push, part), (to - rank_ + ranks_) % ranks_);
    }
  }

  // The `part`th push of its piece by this rank. In order, the first waits for all of them.
  Step step_of(const RelayPush& push, int part) {
    const int to = rank_of(push.to);
    const ByteRange& now = piece(push.piece);
    Step step;
    if (greeted_.insert(to).second) step.waits.push_back({kGreeted, rank_, to, 0});
    if (!is_root() && part < parts_) step.waits.push_back(arrived(rank_, push.piece, part));
    const BufferRole source = is_root() ? BufferRole::send : BufferRole::recv;
    step.copies = {{{BufferRole::recv, to, now.begin, now.bytes},
                    {source, rank_, now.begin, now.bytes},
                    input_.copying.executor,
                    {}}};
    for (int i = 0; passes_on_[at(push.to, push.piece)] && i < parts_; ++i) {
      step.signals.push_back(arrived(to, push.piece, i));
    }
    return step;
  }

  // `done` comes when all lanes have joined: of two lanes the later push may end first.
  void end(ScheduleWriter& writer) const {
    Step signals, waits;
    std::set<int> receivers;
    for (const RelayPush& push : pushes_) {
      if (push.from != number_of(rank_) || passes_on_[at(push.to, push.piece)]) continue;
      receivers.insert(rank_of(push.to));
    }
    for (const int to : receivers) signals.signals.push_back({kWritten, to, rank_, 0});
    for (const int from : senders(true)) waits.waits.push_back({kWritten, rank_, from, 0});
    writer.add(std::move(signals));
    writer.add(std::move(waits));
  }

  std::string text() const {
    std::string text =
        fmt::format("{} pieces {}", pieces_,
                    in_order_ ? "passed on from rank to rank" : "dealt out and passed on");
    if (has_local_copy()) {
      text += fmt::format("; local copy by {} blocks", root_copy_shape(in_order_).grid);
    }
    return text;
  }

  const AlgorithmInput& input_;
  const std::vector<ByteRange> ranges_;  // of the pieces
  const int rank_, ranks_, others_, pieces_;
  const bool in_order_;
  const int parts_;                      // semaphores for a piece at a rank
  const std::vector<RelayPush> pushes_;  // of all ranks
  std::vector<bool> passes_on_;          // by number and piece
  std::set<int> greeted_;                // ranks whose `ready` a push waits for already
};

}  // namespace

Algorithm broadcast_pipeline() {
  return {"broadcast-pipeline",
          [](const AlgorithmInput& in) {
            return in.collective.kind == CollectiveKind::broadcast && in.ranks > 2;
          },
          made_by<BroadcastPipeline>};
}

}  // namespace duet
