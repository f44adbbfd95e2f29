// In step i rank r adds to the part of rank r + i, piece by piece, so that every port has one
// partner at a time:
//
//   owner q                       rank q - 1 (step 1)        rank q - 2 (step 2) ...
//   copy own piece p
//   signal turn(1, p)  ---------> wait turn(1, p)
//                                 add piece p to q
//                                 signal turn(2, p)  ------> wait turn(2, p)
//                                                            add piece p to q
//   wait done  <----------------------------------------- signal done, after the last piece
//
// Elements are thus added in one order, call by call. A wait of step i is for the same piece's step
// i - 1, which all kernels come to before their step i, or for a copy that waits for nothing.
// An owner passes `done` only when all turns of its part have been taken and reset, and it copies
// the next call's elements only then.
#include "collectives/peer/add_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "collectives/schedule/local_copy.h"
#include "core/error.h"

namespace duet {
namespace {

std::uint64_t target_in(const Collective& collective, int rank, int ranks) {
  if (collective.kind != CollectiveKind::all_reduce) return 0;
  return reduced_part(collective, rank, ranks).begin;
}

std::vector<ByteRange> pieces_for(const std::vector<ByteRange>& parts, std::uint64_t largest) {
  std::uint64_t longest = 0;
  for (const ByteRange& part : parts) longest = std::max(longest, part.bytes);
  return cut_into_pieces(longest, largest);
}

template <class Of>
auto of_ranks(int ranks, const Of& of) {
  std::vector<decltype(of(0))> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(of(rank));
  return all;
}

}  // namespace

Reductions chosen_reductions() {
  const char* const value = std::getenv("DUET_REDUCTIONS");
  const std::string_view text = value == nullptr ? "" : value;
  if (text.empty() || text == "auto") return Reductions::automatic;
  if (text == "slots") return Reductions::slots;
  if (text == "in-flight") return Reductions::in_flight;
  throw UsageError(fmt::format("DUET_REDUCTIONS={}: expected auto, slots or in-flight", text));
}

bool can_add(const Rank& rank, const Collective& c, const CollectiveBuffers& buffers) {
  const bool exact = rank.size == 2 || c.dtype == DType::fp32 || c.dtype == DType::int32;
  if (rank.size < 2 || !reduces(c.kind) || c.op != Reduction::sum || !exact) return false;
  const auto send = reinterpret_cast<std::uintptr_t>(buffers.send.data);
  const auto recv = reinterpret_cast<std::uintptr_t>(buffers.recv.data);
  const std::uintptr_t to = recv + target_in(c, rank.index, rank.size);
  const std::uintptr_t from = reduced_part(c, rank.index, rank.size).begin;
  return rank.device.adds_in_flight() && send % kVectorBytes == 0 &&
         (to - from) % kVectorBytes == 0;
}

AddPlan::AddPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                 SideStreams& lanes, Watchdog& watchdog, std::uint64_t largest_piece)
    : rank_(rank.index),
      ranks_(rank.size),
      parts_(of_ranks(ranks_, [&](int r) { return reduced_part(collective, r, ranks_); })),
      pieces_(pieces_for(parts_, largest_piece)),
      targets_(of_ranks(ranks_, [&](int r) { return target_in(collective, r, ranks_); })),
      recv_(rank, buffers.recv, "the other ranks' receive buffers"),
      words_(rank, (ranks_ - 1) * static_cast<int>(pieces_.size()) + 1),
      lanes_(lanes),
      watched_(watchdog, words_) {
  plan_own(buffers);
  LocalKernel kernel;
  kernel.dtype = collective.dtype;
  kernel.blocks = kAddingBlocks;
  kernel.adds = true;
  for (int step = 1; step < ranks_; ++step) {
    for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
      kernel.items.push_back(addition(buffers, step, piece));
      add_wire_bytes(item_bytes(kernel.items.back()));
    }
  }
  if (pieces_.empty()) return;
  adding_ = rank.device.prepare(kernel);
  end_.waits.push_back(done(rank_));
}

// At the rank that adds, which waits for it.
Semaphore AddPlan::turn(int owner, int step, std::size_t piece) const {
  const int adder = (owner + ranks_ - step) % ranks_;
  return {
      words_.at(adder, (step - 1) * static_cast<int>(pieces_.size()) + static_cast<int>(piece))};
}

Semaphore AddPlan::done(int owner) const {
  return {words_.at(owner, (ranks_ - 1) * static_cast<int>(pieces_.size()))};
}

ByteRange AddPlan::piece_of(int rank, std::size_t piece) const {
  const std::uint64_t bytes = parts_[static_cast<std::size_t>(rank)].bytes;
  const std::uint64_t begin = std::min(pieces_[piece].begin, bytes);
  return {begin, std::min(pieces_[piece].bytes, bytes - begin)};
}

void AddPlan::plan_own(const CollectiveBuffers& buffers) {
  const auto own = static_cast<std::size_t>(rank_);
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
    const ByteRange now = piece_of(rank_, piece);
    const Span from = buffers.send.slice(parts_[own].begin + now.begin, now.bytes);
    const Span to = buffers.recv.slice(targets_[own] + now.begin, now.bytes);
    OwnPiece next;
    if (now.bytes > 0 && from.data != to.data) {
      next.copies.push_back({to, from, Executor::kernel, {}});
      next.copies.back().shape = shape_of(choose_local_copy(next.copies));
    }
    next.ready.signals.push_back(turn(rank_, 1, piece));
    own_.push_back(std::move(next));
  }
}

LocalKernelItem AddPlan::addition(const CollectiveBuffers& buffers, int step,
                                  std::size_t piece) const {
  const int owner = (rank_ + step) % ranks_;
  const auto at = static_cast<std::size_t>(owner);
  const ByteRange now = piece_of(owner, piece);
  LocalKernelItem item;
  if (now.bytes > 0) {
    const Span there = recv_.at(owner).slice(targets_[at] + now.begin, now.bytes);
    item.sources = {there, buffers.send.slice(parts_[at].begin + now.begin, now.bytes)};
    item.destinations = {there};
  }
  item.waits.push_back(turn(owner, step, piece));
  if (step + 1 < ranks_) {
    item.signals.push_back(turn(owner, step + 1, piece));
  } else if (piece + 1 == pieces_.size()) {
    item.signals.push_back(done(owner));
  }
  return item;
}

// Copies of the own part go on a lane of their own, or on the caller's stream where there is none.
void AddPlan::enqueue(Stream& stream) {
  if (adding_ == nullptr) return;
  const int lanes = std::min(2, lanes_.copying().count);
  lanes_.fork(stream, lanes);
  lanes_.at(0).launch(*adding_);
  Stream& copying = lanes > 1 ? lanes_.at(1) : stream;
  for (const OwnPiece& piece : own_) {
    for (const Copy& copy : piece.copies) copying.copy(copy);
    copying.handshake(piece.ready);
  }
  lanes_.join(stream, lanes);
  stream.handshake(end_);
}

std::string AddPlan::algorithm() const {
  return fmt::format("added where parts arrive, by {} blocks", kAddingBlocks);
}

}  // namespace duet
