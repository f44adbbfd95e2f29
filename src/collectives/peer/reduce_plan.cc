// Pushing, reducing and spreading. In step i of a piece rank r pushes to rank r + i, so that every
// port has one partner at a time, and the pieces of a rank come about together.
#include "collectives/peer/reduce_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/peer/items.h"

namespace duet {
namespace {

// Few large pieces: behind a switch every copy costs some 4 us besides its bytes, and the more of
// them there are the further ranks drift apart, until they meet at the same receivers. GB/s of a
// reduce_scatter of 256 MiB, 1 GiB and 4 GiB on 4 x H200 with pieces of 16 MiB, 3 slots: 293, 245,
// 223; of 32 MiB: 293, 318, 250; of 64 MiB: 294, 335, 266; the same with 2 slots: 299, 336, 319.
constexpr std::uint64_t kPieceBytes = 64 << 20;
constexpr int kSlots = 2;
// 8 reduce 256 MiB at 224 GB/s where 16 do at 288.
constexpr int kBlocks = 16;
constexpr int kVector = 16;  // bytes that a thread reads at once

int misalignment(const Span& span, std::uint64_t offset) {
  return static_cast<int>((reinterpret_cast<std::uintptr_t>(span.data) + offset) % kVector);
}

std::vector<int> all_shifts(Rank& rank, int mine) {
  std::vector<int> shifts;
  for (const std::string& text :
       rank.team.gather(rank, std::to_string(mine), "all ranks to plan a reduction")) {
    shifts.push_back(std::stoi(text));
  }
  return shifts;
}

}  // namespace

ReducePlan::Parts::Parts(const Collective& c, int ranks) {
  const std::uint64_t size = size_of(c.dtype);
  for (int rank = 0; rank < ranks; ++rank) {
    const Part own = c.kind == CollectiveKind::all_reduce
                         ? part_of(c.count, rank, ranks)
                         : Part{c.count * static_cast<std::uint64_t>(rank), c.count};
    begins.push_back(own.begin * size);
    pieces.push_back(pieces_of(own.count * size, kPieceBytes));
    most_pieces = std::max(most_pieces, pieces.back().size());
    for (const PieceOf& piece : pieces.back()) {
      largest_piece = std::max(largest_piece, piece.bytes);
    }
  }
}

ReducePlan::ReducePlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                       Lanes& lanes, Watchdog& watchdog)
    : parts_(collective, rank.size),
      name_(name(collective.kind)),
      buffers_(buffers),
      lanes_(lanes),
      watchdog_(watchdog),
      slots_(std::clamp(static_cast<int>(parts_.most_pieces), 1, kSlots)),
      staging_(rank, slots_, parts_.largest_piece + kVector),
      shifts_(all_shifts(rank, misalignment(buffers.send, parts_.begin(rank.index)))),
      copies_(rank.device, lanes.copying().count, lanes.copying().in_order) {
  if (collective.kind == CollectiveKind::all_reduce) prepare_spreading(rank);
  Exchange exchange;
  exchange.dtype = collective.dtype;
  exchange.op = collective.op;
  exchange.blocks = kBlocks;
  const std::size_t own = parts_.of(rank.index).size();
  for (std::size_t piece = 0; piece < parts_.most_pieces; ++piece) {
    push(piece);
    if (piece < own) exchange.items.push_back(reduced(piece));
    // The results of a piece go while the next one is reduced.
    if (recv_ && piece > 0) spread(piece - 1);
  }
  if (recv_ && parts_.most_pieces > 0) spread(parts_.most_pieces - 1);
  if (!exchange.items.empty()) reduction_ = rank.device.prepare(exchange);
  watchdog_.add(&staging_.waiting());
  if (words_) watchdog_.add(words_.get());
}

ReducePlan::~ReducePlan() {
  if (words_) watchdog_.remove(words_.get());
  watchdog_.remove(&staging_.waiting());
}

// A rank without a part has nothing to tell, and would run ahead of those that wait for it.
void ReducePlan::prepare_spreading(Rank& rank) {
  const int flags = static_cast<int>(parts_.most_pieces) * copies_.lanes();
  words_ = std::make_unique<Words>(rank, rank.size + flags);
  recv_ = std::make_unique<PeerMemory>(rank, buffers_.recv, "the other ranks' receive buffers");
  for (int from = 0; from < rank.size; ++from) {
    if (from == rank.index || parts_.of(from).empty()) continue;
    end_.waits.push_back({words_->at(rank.index, from)});
  }
}

Span ReducePlan::in_slot(int owner, int source, std::size_t piece, std::uint64_t bytes) const {
  const Span slot = staging_.slot(owner, source, slot_of(piece));
  return slot.slice(static_cast<std::uint64_t>(shifts_[static_cast<std::size_t>(owner)]), bytes);
}

void ReducePlan::add(int step, CopyStep copy) {
  copy.lane = copies_.in_order() ? copies_.next_lane() : (step - 1) % copies_.lanes();
  for (const Copy& one : copy.copies) wire_bytes_ += static_cast<double>(one.source.bytes);
  copies_.add(std::move(copy));
}

void ReducePlan::push(std::size_t piece) {
  const int ranks = staging_.size(), rank = staging_.rank(), slot = slot_of(piece);
  for (int step = 1; step < ranks; ++step) {
    const int to = (rank + step) % ranks;
    CopyStep copy;
    if (piece < parts_.of(to).size()) {
      const PieceOf& now = parts_.of(to)[piece];
      const Span source = buffers_.send.slice(parts_.begin(to) + now.begin, now.bytes);
      copy.waits = {staging_.hear_free(to, slot)};
      copy.copies = {{in_slot(to, rank, piece, now.bytes), source, Executor::dma, {}}};
      copy.signals = {staging_.tell_full(to, slot)};
    }
    add(step, std::move(copy));
  }
}

ExchangeItem ReducePlan::reduced(std::size_t piece) const {
  const int ranks = staging_.size(), rank = staging_.rank(), slot = slot_of(piece);
  const PieceOf& now = parts_.of(rank)[piece];
  const std::uint64_t begin = parts_.begin(rank) + now.begin;
  ExchangeItem item;
  item.sources.push_back(buffers_.send.slice(begin, now.bytes));
  item.destinations.push_back(buffers_.recv.slice(recv_ ? begin : now.begin, now.bytes));
  for (int step = 1; step < ranks; ++step) {
    const int from = (rank + step) % ranks;
    item.sources.push_back(in_slot(rank, from, piece, now.bytes));
    item.after.push_back(staging_.hear_full(from, slot));
    item.then.push_back(staging_.tell_free(from, slot));
  }
  const int lanes = copies_.in_order() ? 1 : copies_.lanes();
  for (int lane = 0; recv_ && lane < lanes; ++lane) item.then.push_back(result_flag(piece, lane));
  return item;
}

Flag ReducePlan::result_flag(std::size_t piece, int lane) const {
  const int index = static_cast<int>(piece) * copies_.lanes() + lane;
  return {words_->at(staging_.rank(), staging_.size() + index)};
}

// In order, the first copy waits for all. Those of the last piece tell that all are there.
void ReducePlan::spread(std::size_t piece) {
  const int ranks = staging_.size(), rank = staging_.rank();
  const std::vector<PieceOf>& own = parts_.of(rank);
  for (int step = 1; step < ranks; ++step) {
    CopyStep copy;
    if (piece < own.size()) {
      const int to = (rank + step) % ranks;
      const std::uint64_t begin = parts_.begin(rank) + own[piece].begin;
      const Span source = recv_->at(rank).slice(begin, own[piece].bytes);
      copy.copies = {{recv_->at(to).slice(begin, own[piece].bytes), source, Executor::dma, {}}};
      if (!copies_.in_order()) copy.waits = {result_flag(piece, (step - 1) % copies_.lanes())};
      if (copies_.in_order() && step == 1) copy.waits = {result_flag(piece, 0)};
      if (piece + 1 == own.size()) copy.signals = {{words_->at(to, rank)}};
    }
    add(step, std::move(copy));
  }
}

void ReducePlan::enqueue(Stream& stream) {
  watchdog_.require_all_well(name_);
  const int copying = copies_.lanes() - 1;
  lanes_.fork(stream, copying + 1);
  if (reduction_) lanes_.at(copying).exchange(*reduction_);
  copies_.enqueue(stream, lanes_);
  lanes_.join(stream, copying + 1);
  if (!end_.waits.empty()) stream.meet(end_);
}

std::string ReducePlan::algorithm() const {
  return fmt::format("pushes through {} slots; reduced by {} blocks", slots_, kBlocks);
}

}  // namespace duet
