#include "collectives/call_contents.h"

namespace duet {

Fill call_input(const Collective& collective, int ranks, int rank, std::uint64_t seed) {
  Fill fill;
  fill.kind = reduces(collective.kind) ? FillKind::digits : FillKind::pattern;
  fill.seed = seed + static_cast<std::uint64_t>(rank);
  fill.dtype = collective.dtype;
  fill.ranks = ranks;
  return fill;
}

std::vector<ReceivedPart> call_result(const Collective& collective, int ranks, int rank,
                                      std::uint64_t seed, std::uint64_t received) {
  if (reduces(collective.kind)) {
    Fill result = call_input(collective, ranks, 0, seed);
    result.kind = FillKind::digits_reduced;
    result.op = collective.op;
    if (collective.kind == CollectiveKind::reduce_scatter) {
      result.offset = received * static_cast<std::uint64_t>(rank);
    }
    return {{-1, 0, received, result}};
  }
  std::vector<ReceivedPart> parts;
  for (const Move& move : moves(collective, ranks)) {
    if (move.to != rank) continue;
    Fill sent = call_input(collective, ranks, move.from, seed);
    sent.offset = move.from_offset;
    parts.push_back({move.from, move.to_offset, move.bytes, sent});
  }
  return parts;
}

}  // namespace duet
