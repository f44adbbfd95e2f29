#include "nccl_shim/protocol/slots.h"

#include <algorithm>

namespace duet::nccl_shim {
namespace {

using What = WordOperation::What;

constexpr std::uint32_t kSlotsOfAPair = 2;

// A smaller copy takes longer to start than to run.
constexpr std::size_t kSmallestPiece = 1 << 20;
constexpr std::size_t kFewestPieces = 3;  // where they are large enough
constexpr std::size_t kTail = 4;          // the last quarter of the last piece is one by itself

// What of a part is between two cuts.
Part piece_of(const Part& part, std::size_t begin, std::size_t end) {
  begin = std::min(begin, part.bytes);
  return {part.from + begin, part.to + begin, std::min(end, part.bytes) - begin};
}

}  // namespace

std::size_t Slots::bytes(int ranks, const Method& method) {
  return static_cast<std::size_t>(ranks - 1) * kSlotsOfAPair * method.piece_bytes;
}

// Copying one piece hides what becomes of another, but that of the last, which is small therefore.
std::vector<std::size_t> Slots::cuts(const Call& call) const {
  // No part is longer.
  const std::size_t bytes = reduces(call.kind) ? reduced_part(call, 0, ranks_).bytes : call.bytes;
  if (bytes == 0) return {0};
  const std::size_t piece = method_.piece_bytes;
  const std::size_t smallest = std::min(kSmallestPiece, piece / kTail);
  const std::size_t count =
      std::max((bytes + piece - 1) / piece,
               std::max<std::size_t>(1, std::min(kFewestPieces, bytes / smallest)));
  const std::size_t each = aligned((bytes + count - 1) / count);
  std::vector<std::size_t> begins;
  for (std::size_t begin = 0; begin < bytes; begin += each) begins.push_back(begin);
  const std::size_t last = bytes - begins.back();
  const std::size_t tail = last - std::min(last, aligned(last - last / kTail));
  if (begins.size() > 1 && tail >= smallest) begins.push_back(bytes - tail);
  begins.push_back(bytes);
  return begins;
}

bool Slots::has_pass(const Call& call, Pass pass) const {
  if (pass == Pass::reduce) return reduces(call.kind);
  return method_.staged && call.kind != Kind::reduce_scatter;
}

std::uint32_t Slots::pieces(const Call& call) const {
  const std::size_t count =
      (has_pass(call, Pass::reduce) ? 1u : 0u) + (has_pass(call, Pass::copy) ? 1u : 0u);
  return count == 0 ? 0 : static_cast<std::uint32_t>(count * (cuts(call).size() - 1));
}

// From the start of the receiver's slots.
std::size_t Slots::slot(int source, int receiver, std::uint32_t piece) const {
  const int place = source < receiver ? source : source - 1;
  return (piece % kSlotsOfAPair * static_cast<std::size_t>(ranks_ - 1) +
          static_cast<std::size_t>(place)) *
         method_.piece_bytes;
}

void Slots::count(const Call& call) {
  before_ = pieces_;
  pieces_ += pieces(call);
}

void Slots::pass(const BegunCall& begun, Stream user) {
  const Call& call = begun.call;
  std::uint32_t piece = before_;
  for (const Pass pass : {Pass::reduce, Pass::copy}) {
    if (!has_pass(call, pass)) continue;
    lanes_.follow(user);
    if (pass == Pass::copy && !reduces(call.kind)) buffers_.copy_own_part(begun, user);
    const std::vector<std::size_t> of_parts = cuts(call);
    for (std::size_t i = 0; i + 1 < of_parts.size(); ++i) {
      pass_piece(begun, pass, {++piece, of_parts[i], of_parts[i + 1]}, user);
    }
    lanes_.join(user);
  }
}

void Slots::pass_piece(const BegunCall& begun, Pass pass, const Piece& piece, Stream user) {
  const Call& call = begun.call;
  // What an all_reduce has reduced is in its receive buffer.
  const char* const send = pass == Pass::copy && reduces(call.kind)
                               ? begun.mine.receive
                               : static_cast<const char*>(call.send);
  for (int step = 1; step < ranks_; ++step) {
    const int to = (rank_ + step) % ranks_;
    const Part whole =
        pass == Pass::reduce ? reduced_part(call, to, ranks_) : part(call, rank_, to, ranks_);
    // All pieces for a peer on one lane: their word counts up.
    const Stream lane = step % 2 != 0 ? lanes_.push() : lanes_.pull();
    const Part sent = piece_of(whole, piece.begin, piece.end);
    send_piece(to, piece.number, send + sent.from, sent.bytes, lane);
  }
  std::vector<WordOperation> waits, signals;
  for (int source = 0; source < ranks_; ++source) {
    if (source == rank_) continue;
    waits.push_back({What::wait, &words(source, rank_).arrived, piece.number});
    signals.push_back({What::set, &words(rank_, source).freed, piece.number});
  }
  device_.words(user, waits);
  if (pass == Pass::reduce) {
    reduce_piece(begun, piece, user);
  } else {
    copy_piece_out(begun, piece, user);
  }
  device_.words(user, signals);
}

void Slots::send_piece(int to, std::uint32_t piece, const char* from, std::size_t bytes,
                       Stream lane) {
  char* target = memory_.slots_of(to) + slot(rank_, to, piece);
  device_.words(lane, {{What::wait, &words(to, rank_).freed, piece - kSlotsOfAPair}});
  if (bytes > 0) device_.copy(lane, target, from, bytes);
  device_.words(lane, {{What::set, &words(rank_, to).arrived, piece}});
}

// In the order of ranks, so that the result is the same at every call.
void Slots::reduce_piece(const BegunCall& begun, const Piece& piece, Stream user) {
  const Call& call = begun.call;
  const Part reduced = piece_of(reduced_part(call, rank_, ranks_), piece.begin, piece.end);
  if (reduced.bytes == 0) return;
  PartsToReduce parts{
      begun.mine.receive + reduced.to, {}, reduced.bytes, call.type, call.reduction};
  for (int source = 0; source < ranks_; ++source) {
    parts.parts.push_back(source == rank_ ? static_cast<const char*>(call.send) + reduced.from
                                          : memory_.slots() + slot(source, rank_, piece.number));
  }
  device_.reduce(user, parts);
}

void Slots::copy_piece_out(const BegunCall& begun, const Piece& piece, Stream user) {
  for (int step = 1; step < ranks_; ++step) {
    const int source = (rank_ + ranks_ - step) % ranks_;
    const Part received = piece_of(part(begun.call, source, rank_, ranks_), piece.begin, piece.end);
    if (received.bytes == 0) continue;
    device_.copy(user, begun.mine.receive + received.to,
                 memory_.slots() + slot(source, rank_, piece.number), received.bytes);
  }
}

bool Slots::waits_for(int peer) const {
  const PairWords& from = words(peer, rank_);
  return !has_come(from.arrived, pieces_) ||
         !has_come(from.freed, pieces_ - kSlotsOfAPair);  // the last that is waited for
}

void Slots::expect_without(const TakenBack& calls) {
  for (int peer = 0; peer < ranks_; ++peer) {
    expected_[peer] = pieces_;
    for (const Call& call : calls[peer]) expected_[peer] -= pieces(call);
  }
}

void Slots::end_own_waits() {
  for (int peer = 0; peer < ranks_; ++peer) {
    PairWords& from = words(peer, rank_);
    std::uint32_t unused = 0;
    force(from.arrived, pieces_, seen_[peer]);
    force(from.freed, pieces_, unused);
  }
}

bool Slots::may_touch(int peer) const { return seen_[peer] != expected_[peer]; }

}  // namespace duet::nccl_shim
