// In step i of a piece rank r pushes to rank r + i: every port has one partner at a time, and all
// ranks' copies of a piece arrive at about the same time.
#include "collectives/peer/reduce_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/peer/partition.h"

namespace duet {
namespace {

int misalignment(const Span& span, std::uint64_t offset) {
  return static_cast<int>((reinterpret_cast<std::uintptr_t>(span.data) + offset) % kVectorBytes);
}

std::vector<int> all_shifts(Rank& rank, int mine) {
  std::vector<int> shifts;
  const auto all = rank.team.gather(rank, std::to_string(mine), "all ranks to plan a reduction");
  for (const std::string& text : *all) {
    shifts.push_back(std::stoi(text));
  }
  return shifts;
}

}  // namespace

ReducePlan::RankParts::RankParts(const Collective& c, int ranks, std::uint64_t largest) {
  for (int rank = 0; rank < ranks; ++rank) {
    const ByteRange own = reduced_part(c, rank, ranks);
    begins.push_back(own.begin);
    pieces.push_back(cut_into_pieces(own.bytes, largest));
    most_pieces = std::max(most_pieces, pieces.back().size());
    for (const ByteRange& piece : pieces.back()) {
      largest_piece = std::max(largest_piece, piece.bytes);
    }
  }
}

ReducePlan::ReducePlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                       SideStreams& lanes, Watchdog& watchdog, StagingPool& pool,
                       std::uint64_t largest_piece)
    : parts_(collective, rank.size, largest_piece),
      buffers_(buffers),
      lanes_(lanes),
      slots_(slots_for(parts_.most_pieces)),
      shared_(pool.staging(rank, watchdog, slots_, parts_.largest_piece + kVectorBytes,
                           needs_send_token(lanes.copying(), parts_.most_pieces))),
      staging_(shared_->staging),
      shifts_(all_shifts(rank, misalignment(buffers.send, parts_.begin(rank.index)))),
      copies_(rank.device, lanes_for(lanes.copying(), parts_.largest_piece),
              lanes.copying().in_order) {
  if (collective.kind == CollectiveKind::all_reduce) target_ = parts_.begin(rank.index);
  LocalKernel kernel;
  kernel.dtype = collective.dtype;
  kernel.op = collective.op;
  kernel.blocks = blocks_that_reduce(rank.size);
  const std::size_t own = parts_.of(rank.index).size();
  for (std::size_t piece = 0; piece < parts_.most_pieces; ++piece) {
    push(piece);
    if (piece < own) kernel.items.push_back(reduced(piece));
  }
  if (!kernel.items.empty()) reduction_ = rank.device.prepare(kernel);
}

Span ReducePlan::in_slot(int owner, int source, std::size_t piece, std::uint64_t bytes) const {
  const Span slot = staging_.slot(owner, source, slot_of(piece));
  return slot.slice(static_cast<std::uint64_t>(shifts_[static_cast<std::size_t>(owner)]), bytes);
}

void ReducePlan::add(int step, CopyStep copy) {
  copy.lane = copies_.lane_for(step);
  for (const Copy& one : copy.copies) add_wire_bytes(one.source.bytes);
  copies_.add(std::move(copy));
}

void ReducePlan::push(std::size_t piece) {
  const int ranks = staging_.size(), rank = staging_.rank(), slot = slot_of(piece);
  for (int step = 1; step < ranks; ++step) {
    const int to = (rank + step) % ranks;
    CopyStep copy{0, staging_.wait_send_token(to), {}, staging_.pass_send_token(to)};
    if (piece < parts_.of(to).size()) {
      const ByteRange& now = parts_.of(to)[piece];
      const Span source = buffers_.send.slice(parts_.begin(to) + now.begin, now.bytes);
      copy.waits.push_back(staging_.free_from(to, slot));
      copy.copies = {{in_slot(to, rank, piece, now.bytes), source, lanes_.copying().executor, {}}};
      copy.signals.push_back(staging_.full_to(to, slot));
    }
    add(step, std::move(copy));
  }
}

LocalKernelItem ReducePlan::reduced(std::size_t piece) const {
  const int ranks = staging_.size(), rank = staging_.rank(), slot = slot_of(piece);
  const ByteRange& now = parts_.of(rank)[piece];
  const std::uint64_t begin = parts_.begin(rank) + now.begin;
  LocalKernelItem item;
  item.sources.push_back(buffers_.send.slice(begin, now.bytes));
  item.destinations.push_back(buffers_.recv.slice(target_ + now.begin, now.bytes));
  for (int step = 1; step < ranks; ++step) {
    const int from = (rank + step) % ranks;
    item.sources.push_back(in_slot(rank, from, piece, now.bytes));
    item.waits.push_back(staging_.full_from(from, slot));
    item.signals.push_back(staging_.free_to(from, slot));
  }
  return item;
}

void ReducePlan::enqueue(Stream& stream) {
  const int copying = copies_.lanes() - 1;
  lanes_.fork(stream, copying + 1);
  if (reduction_) lanes_.at(copying).launch(*reduction_);
  copies_.enqueue(stream, lanes_);
  lanes_.join(stream, copying + 1);
}

std::string ReducePlan::algorithm() const {
  return fmt::format("pushes through {} slots; reduced by {} blocks", slots_,
                     blocks_that_reduce(staging_.size()));
}

}  // namespace duet
