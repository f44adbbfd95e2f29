// Reductions of PairCopies: parts go through slots, and their receiver reduces them.
#include <algorithm>

#include "core/error.h"
#include "nccl_shim/protocol/pair_copies.h"

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

void PairCopies::make_slots() {
  if (piece_bytes_ == 0) return;
  const std::size_t bytes = kSlotsOfAPair * static_cast<std::size_t>(ranks_ - 1) * piece_bytes_;
  slots_ = static_cast<char*>(device_.allocate(bytes));
  try {
    (*segment_)->ranks[rank_].slots = lent_.place(slots_, bytes);
  } catch (const Error&) {
    device_.free(slots_);
    throw;
  }
}

void PairCopies::map_slots() {
  for (int peer = 0; peer < ranks_ && piece_bytes_ > 0; ++peer) {
    if (peer != rank_) borrowed_.address(peer, (*segment_)->ranks[peer].slots);
  }
}

// Copying one piece hides the reduction of another, but that of the last, which is small therefore.
std::vector<std::size_t> PairCopies::cuts(const Call& call) const {
  const std::size_t bytes = reduced_part(call, 0, ranks_).bytes;  // no part is longer
  if (bytes == 0) return {0};
  const std::size_t smallest = std::min(kSmallestPiece, piece_bytes_ / kTail);
  const std::size_t count =
      std::max((bytes + piece_bytes_ - 1) / piece_bytes_,
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

std::uint32_t PairCopies::pieces(const Call& call) const {
  return reduces(call.kind) ? static_cast<std::uint32_t>(cuts(call).size() - 1) : 0;
}

// From the start of the receiver's slots.
std::size_t PairCopies::slot(int source, int receiver, std::uint32_t piece) const {
  const int place = source < receiver ? source : source - 1;
  return (piece % kSlotsOfAPair * static_cast<std::size_t>(ranks_ - 1) +
          static_cast<std::size_t>(place)) *
         piece_bytes_;
}

void PairCopies::reduce_own_part(const Call& call, const Buffers& mine, std::uint32_t first,
                                 Stream user) {
  device_.record(*begin_, user);
  device_.wait(push_lane_, *begin_);
  device_.wait(pull_lane_, *begin_);
  const std::vector<std::size_t> of_parts = cuts(call);
  std::uint32_t piece = first;
  for (std::size_t i = 0; i + 1 < of_parts.size(); ++i) {
    const std::size_t begin = of_parts[i], end = of_parts[i + 1];
    ++piece;
    for (int step = 1; step < ranks_; ++step) {
      const int to = (rank_ + step) % ranks_;
      // All pieces for a peer on one lane: their word counts up.
      send_piece(call, to, piece, piece_of(reduced_part(call, to, ranks_), begin, end),
                 step % 2 != 0 ? push_lane_ : pull_lane_);
    }
    reduce_piece(call, mine, piece, piece_of(reduced_part(call, rank_, ranks_), begin, end), user);
  }
  device_.record(*pushed_, push_lane_);
  device_.record(*pulled_, pull_lane_);
  device_.wait(user, *pushed_);
  device_.wait(user, *pulled_);
}

void PairCopies::send_piece(const Call& call, int to, std::uint32_t piece, const Part& sent,
                            Stream lane) {
  char* target = borrowed_.address(to, (*segment_)->ranks[to].slots) + slot(rank_, to, piece);
  const char* source = static_cast<const char*>(call.send) + sent.from;
  device_.words(lane, {{What::wait, &words(to, rank_).freed, piece - kSlotsOfAPair}});
  if (sent.bytes > 0) device_.copy(lane, target, source, sent.bytes);
  device_.words(lane, {{What::set, &words(rank_, to).arrived, piece}});
}

// In the order of ranks, so that the result is the same at every call.
void PairCopies::reduce_piece(const Call& call, const Buffers& mine, std::uint32_t piece,
                              const Part& reduced, Stream user) {
  PartsToReduce parts{mine.receive + reduced.to, {}, reduced.bytes, call.type, call.reduction};
  std::vector<WordOperation> waits, signals;
  for (int source = 0; source < ranks_; ++source) {
    if (source == rank_) {
      parts.parts.push_back(static_cast<const char*>(call.send) + reduced.from);
      continue;
    }
    parts.parts.push_back(slots_ + slot(source, rank_, piece));
    waits.push_back({What::wait, &words(source, rank_).arrived, piece});
    signals.push_back({What::set, &words(rank_, source).freed, piece});
  }
  device_.words(user, waits);
  if (reduced.bytes > 0) device_.reduce(user, parts);
  device_.words(user, signals);
}

}  // namespace duet::nccl_shim
