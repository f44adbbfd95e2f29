// In step i of a piece rank r pushes to rank r + i and copies out what rank r - i has pushed, so
// that every port has one partner at a time.
//
// Why it cannot deadlock. Order all copies of all ranks by piece, then pushes before copies out,
// then by step. A push of piece p waits for a copy out of piece p - slots, a copy out of p for a
// push of p (in place for two, one of them its own rank's), and both for what is before them on
// their lane: always for something earlier in that order. A rank also enqueues in that order, so
// this holds where a device runs several lanes through one hardware queue.
#include "collectives/peer/staged_move_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/peer/local_copy.h"

namespace duet {
namespace {

// Within the device: the driver's choice how, which may take compute units.
constexpr Executor kCopyOutExecutor = Executor::dma;

}  // namespace

StagedMovePlan::Sizes::Sizes(const std::vector<Move>& moves, std::uint64_t largest_piece) {
  for (const Move& move : moves) {
    if (move.from == move.to) continue;
    ++moved;
    const std::vector<ByteRange> pieces = cut_into_pieces(move.bytes, largest_piece);
    most_pieces = std::max(most_pieces, pieces.size());
    for (const ByteRange& piece : pieces) largest = std::max(largest, piece.bytes);
  }
}

StagedMovePlan::StagedMovePlan(Rank& rank, const std::vector<Move>& moves,
                               const CollectiveBuffers& buffers, SideStreams& lanes,
                               Watchdog& watchdog, std::uint64_t largest_piece)
    : lanes_(lanes),
      sizes_(moves, largest_piece),
      staging_(rank, slots_for(sizes_.most_pieces), sizes_.largest,
               sizes_.moved == rank.size * (rank.size - 1) &&
                   needs_send_token(lanes.copying(), sizes_.most_pieces)),
      pushed_(zeroed_semaphores(rank.device, rank.size * static_cast<int>(sizes_.most_pieces))),
      sent_(static_cast<std::size_t>(rank.size)),
      received_(static_cast<std::size_t>(rank.size)),
      pushes_(rank.device, lanes_for(lanes.copying(), sizes_.largest), lanes.copying().in_order),
      copies_out_(rank.device, lanes.copying_out().copying().count, lanes.copying().in_order),
      watched_(watchdog, staging_.waits()) {
  take(moves, buffers, largest_piece);
  for (std::size_t piece = 0; piece < sizes_.most_pieces; ++piece) {
    push(piece);
    copy_out_of_slots(piece);
  }
}

void StagedMovePlan::take(const std::vector<Move>& moves, const CollectiveBuffers& buffers,
                          std::uint64_t largest_piece) {
  const int rank = staging_.rank();
  for (const Move& move : moves) {
    if (move.from != rank && move.to != rank) continue;
    Span source, target;
    if (move.from == rank) source = buffers.send.slice(move.from_offset, move.bytes);
    if (move.to == rank) target = buffers.recv.slice(move.to_offset, move.bytes);
    const std::vector<ByteRange> pieces = cut_into_pieces(move.bytes, largest_piece);
    if (move.from == move.to) {
      if (source.data != target.data)
        local_.push_back({target, source, Executor::kernel, shape_of(LocalCopyMethod::few_blocks)});
    } else if (move.from == rank) {
      sent_[static_cast<std::size_t>(move.to)] = {source, pieces};
      add_wire_bytes(move.bytes);
    } else {
      received_[static_cast<std::size_t>(move.from)] = {target, pieces};
    }
  }
}

// Whether what `peer` sends is received where what goes to it is sent from.
bool StagedMovePlan::swaps(int peer) const {
  const Span& in = received_[static_cast<std::size_t>(peer)].span;
  return in.bytes > 0 && in.data == sent_[static_cast<std::size_t>(peer)].span.data;
}

// One for each piece: a slot may be pushed into again before this rank has copied out the one
// before.
Semaphore StagedMovePlan::pushed(int peer, std::size_t piece) const {
  return semaphore_at(pushed_, static_cast<std::size_t>(peer) * sizes_.most_pieces + piece);
}

void StagedMovePlan::push(std::size_t piece) {
  const int ranks = staging_.size(), rank = staging_.rank(), slot = slot_of(piece);
  for (int step = 1; step < ranks; ++step) {
    const int to = (rank + step) % ranks;
    const Route& route = sent_[static_cast<std::size_t>(to)];
    CopyStep copy{
        pushes_.lane_for(step), staging_.wait_send_token(to), {}, staging_.pass_send_token(to)};
    if (piece < route.pieces.size()) {
      const ByteRange& now = route.pieces[piece];
      const Span target = staging_.slot(to, rank, slot).slice(0, now.bytes);
      copy.waits.push_back(staging_.free_from(to, slot));
      copy.copies = {
          {target, route.span.slice(now.begin, now.bytes), lanes_.copying().executor, {}}};
      copy.signals.push_back(staging_.full_to(to, slot));
      if (swaps(to)) copy.signals.push_back(pushed(to, piece));
    }
    pushes_.add(std::move(copy));
  }
}

void StagedMovePlan::copy_out_of_slots(std::size_t piece) {
  const int ranks = staging_.size(), rank = staging_.rank(), slot = slot_of(piece);
  for (int step = 1; step < ranks; ++step) {
    const int from = (rank + ranks - step) % ranks;
    const Route& route = received_[static_cast<std::size_t>(from)];
    CopyStep copy;
    copy.lane = copies_out_.lane_for(step);
    if (piece < route.pieces.size()) {
      const ByteRange& now = route.pieces[piece];
      const Span source = staging_.slot(rank, from, slot).slice(0, now.bytes);
      copy.waits = {staging_.full_from(from, slot)};
      if (swaps(from)) copy.waits.push_back(pushed(from, piece));
      copy.copies = {{route.span.slice(now.begin, now.bytes), source, kCopyOutExecutor, {}}};
      copy.signals = {staging_.free_to(from, slot)};
    }
    copies_out_.add(std::move(copy));
  }
}

void StagedMovePlan::enqueue(Stream& stream) {
  SideStreams& out = lanes_.copying_out();
  const int beside = pushes_.lanes() - 1 + (local_.empty() ? 0 : 1);
  const int out_lanes = copies_out_.lanes();
  lanes_.fork(stream, beside);
  out.fork(stream, out_lanes);
  for (const Copy& copy : local_) lanes_.at(beside - 1).copy(copy);
  const auto peers = static_cast<std::size_t>(staging_.size() - 1);
  for (std::size_t step = 0; step < pushes_.size(); step += peers) {
    pushes_.enqueue(stream, lanes_, step, step + peers);
    // Of these lanes the last takes the place of the caller's stream, which is lane 0 of CopySteps.
    copies_out_.enqueue(out.at(out_lanes - 1), out, step, step + peers);
  }
  lanes_.join(stream, beside);
  out.join(stream, out_lanes);
}

std::string StagedMovePlan::algorithm() const {
  std::string text = fmt::format("pushes through {} slots", staging_.slots());
  if (!local_.empty()) text += "; " + text_of(LocalCopyMethod::few_blocks);
  return text;
}

}  // namespace duet
