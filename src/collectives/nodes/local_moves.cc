#include "collectives/nodes/local_moves.h"

#include <fmt/format.h>

#include <utility>

namespace duet {
namespace {

// As many as a kernel's all_gather of large sizes within a node.
constexpr int kMovingBlocks = 32;

constexpr std::size_t kStaggeredBytes = 1 << 20;
constexpr std::size_t kCopyGrain = 4 << 10;

}  // namespace

LocalMoves::LocalMoves(Device& device, SideStreams& lanes, MoveBy by)
    : device_(device), lanes_(lanes), by_(by), steps_(device, lanes.copying().count, true) {
  kernel_.blocks = kMovingBlocks;
}

void LocalMoves::add(LocalMove move) {
  if (move.source.bytes == 0 && move.waits.empty() && move.signals.empty()) return;
  if (by_ == MoveBy::kernel) {
    LocalKernelItem item;
    if (move.source.bytes > 0) {
      item.sources = {move.source};
      item.destinations = std::move(move.destinations);
    }
    item.waits = std::move(move.waits);
    item.signals = std::move(move.signals);
    kernel_.items.push_back(std::move(item));
    return;
  }
  if (move.source.bytes == 0) {
    steps_.add({steps_.lane_for(1), std::move(move.waits), {}, std::move(move.signals)});
    return;
  }
  const std::vector<Copy> copies = copies_of(move);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    CopyStep step;
    step.lane = steps_.lane_for(1);
    if (i == 0) step.waits = std::move(move.waits);
    step.copies = {copies[i]};
    if (i + 1 == copies.size()) step.signals = std::move(move.signals);
    steps_.add(std::move(step));
  }
}

// Equal copies that begin together end together where lanes share a link, and nothing then hides
// what lies between them and the next ones. So the second half of the very first copy goes last.
std::vector<Copy> LocalMoves::copies_of(const LocalMove& move) const {
  std::vector<Copy> copies;
  for (const Span& to : move.destinations) copies.push_back({to, move.source, Executor::dma, {}});
  const bool first = steps_.size() == 0 && lanes_.copying().in_order && copies.size() > 1;
  if (!first || move.source.bytes < kStaggeredBytes) return copies;
  const std::size_t half = move.source.bytes / 2 / kCopyGrain * kCopyGrain;
  const std::size_t rest = move.source.bytes - half;
  const Span& to = move.destinations.front();
  copies.front() = {to.slice(0, half), move.source.slice(0, half), Executor::dma, {}};
  copies.push_back({to.slice(half, rest), move.source.slice(half, rest), Executor::dma, {}});
  return copies;
}

void LocalMoves::prepare() {
  if (!kernel_.items.empty()) prepared_ = device_.prepare(kernel_);
}

void LocalMoves::enqueue(Stream& stream) {
  if (by_ == MoveBy::copy_engines) return steps_.enqueue(stream, lanes_);
  if (prepared_ != nullptr) stream.launch(*prepared_);
}

void LocalMoves::enqueue_round(Stream& stream, std::size_t round) {
  if (by_ == MoveBy::copy_engines) {
    return steps_.enqueue(stream, lanes_, round == 0 ? 0 : rounds_[round - 1], rounds_[round]);
  }
  if (round == 0 && prepared_ != nullptr) stream.launch(*prepared_);
}

std::string LocalMoves::description() const {
  if (by_ == MoveBy::kernel) return fmt::format("a kernel of {} blocks", kMovingBlocks);
  return fmt::format("pushes on {} {}", steps_.lanes(), steps_.lanes() == 1 ? "lane" : "lanes");
}

}  // namespace duet
