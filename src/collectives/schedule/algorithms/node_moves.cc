#include "collectives/schedule/algorithms/node_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/schedule/algorithms/staging_slots.h"

namespace duet {
namespace {

// As many as a kernel's all_gather of large sizes within a node.
constexpr int kMovingBlocks = 32;

constexpr std::uint64_t kStaggeredBytes = 1 << 20;
constexpr std::uint64_t kCopyGrain = 4 << 10;

// A move has a copy for each further rank of the node.
int side_lanes_for(const AlgorithmInput& input, std::size_t moves) {
  const std::size_t copies = moves * index_of(input.nodes->node_size() - 1);
  if (input.kernel_moves || copies == 0) return 0;
  return static_cast<int>(std::min(index_of(input.copying.count), copies)) - 1;
}

}  // namespace

NodeMoves::NodeMoves(NodeSchedule& to, std::size_t moves)
    : to_(to),
      side_lanes_(side_lanes_for(to.input(), moves)),
      order_(to.writer(), 0, side_lanes_ + 1, true) {}

void NodeMoves::begin() {
  if (!to_.input().kernel_moves) return;
  Step step;
  step.kernel.blocks = kMovingBlocks;
  kernel_ = to_.writer().add(std::move(step));
}

std::string NodeMoves::text(const AlgorithmInput& input) {
  if (input.kernel_moves) return fmt::format("a kernel of {} blocks in the node", kMovingBlocks);
  const int lanes = input.copying.count;
  return fmt::format("pushes on {} {} in the node", lanes, lanes == 1 ? "lane" : "lanes");
}

void NodeMoves::add(NodeMove move) {
  if (move.source.bytes == 0 && move.waits.empty() && move.signals.empty()) return;
  if (kernel_ >= 0) return add_to_kernel(std::move(move));
  const std::vector<StepCopy> copies = copies_of(move);
  const std::size_t steps = copies.empty() ? 1 : copies.size();
  if (steps > 1 && !move.waits.empty()) order_.set_needed();  // the first copy waits for all
  for (std::size_t i = 0; i < steps; ++i) {
    Step step;
    if (i == 0) step.waits = std::move(move.waits);
    if (i < copies.size()) step.copies.push_back(copies[i]);
    if (i + 1 == steps) step.signals = std::move(move.signals);
    order_.add(std::move(step), 1);
  }
  any_ = true;
}

void NodeMoves::add_to_kernel(NodeMove move) {
  StepItem item;
  if (move.source.bytes > 0) {
    item.sources = {move.source};
    item.targets = std::move(move.targets);
  }
  item.waits = std::move(move.waits);
  item.signals = std::move(move.signals);
  to_.made().steps[index_of(kernel_)].kernel.items.push_back(std::move(item));
}

// Equal copies that begin together end together where lanes share a link, and nothing then hides
// what lies between them and the next ones. So the second half of the very first copy goes last.
std::vector<StepCopy> NodeMoves::copies_of(const NodeMove& move) const {
  std::vector<StepCopy> copies;
  if (move.source.bytes == 0) return copies;
  for (const Place& to : move.targets) copies.push_back({to, move.source, Executor::dma, {}});
  const bool first = !any_ && to_.input().copying.in_order && copies.size() > 1;
  if (!first || move.source.bytes < kStaggeredBytes) return copies;
  const std::uint64_t half = move.source.bytes / 2 / kCopyGrain * kCopyGrain;
  const auto part = [&](std::uint64_t begin, std::uint64_t bytes) {
    StepCopy copy = copies.front();
    for (Place* place : {&copy.to, &copy.from}) {
      place->offset += begin;
      place->bytes = bytes;
    }
    return copy;
  };
  const StepCopy first_half = part(0, half), second_half = part(half, move.source.bytes - half);
  copies.front() = first_half;
  copies.push_back(second_half);
  return copies;
}

NodeSlots::NodeSlots(NodeSchedule& to, int count, std::uint64_t bytes)
    : to_(to),
      count_(count),
      full_(to.add_group({"full", count})),
      free_(to.add_group({"free", count, 1})),
      bytes_(slot_bytes_for(bytes)) {
  to.made().slot_bytes = to.peers().size() * index_of(count) * bytes_;
}

void NodeSlots::push(NodeMoves& moves, int distance, int slot,
                     const std::function<std::optional<Place>(int receiver)>& piece_for) const {
  const NodePlace& place = to_.place();
  const int node = place.node_after(distance);
  for (const int peer : to_.peers()) {
    const std::optional<Place> piece = piece_for(place.map.rank(node, place.map.local(peer)));
    if (!piece) continue;
    moves.add({{{free_, to_.rank(), peer, slot}},
               *piece,
               {at(peer, to_.rank(), slot, piece->bytes)},
               {{full_, peer, to_.rank(), slot}}});
  }
}

Place NodeSlots::at(int source, int slot, std::uint64_t bytes) const {
  return at(to_.rank(), source, slot, bytes);
}

Place NodeSlots::at(int owner, int source, int slot, std::uint64_t bytes) const {
  const NodeMap& map = to_.place().map;
  const int size = map.node_size();
  const int row = (map.local(source) - map.local(owner) + size - 1) % size;
  return {BufferRole::slots, owner, index_of(row * count_ + slot) * bytes_, bytes};
}

}  // namespace duet
