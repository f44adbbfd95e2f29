#include "soak/lanes.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/call_contents.h"
#include "core/error.h"
#include "soak/difference.h"

namespace duet {
namespace {

constexpr Fill kUnwritten{FillKind::constant, 0xDB, 0, DType::fp32};
constexpr const char* kHost = "host";

// Its kernels run before those of products that wait for compute units.
std::unique_ptr<Stream> urgent_stream(Device& device) {
  return device.make_stream({device.info().priorities - 1});
}

}  // namespace

SoakCopies::SoakCopies(Rank& rank, const SoakRoundPlan& plan) : rank_(rank), plan_(plan) {
  if (plan.shift > 0) add(kSoakToPeer, plan.peer_bytes, plan.executor);
  add(kSoakFromHost, plan.host_bytes, Executor::dma);
  add(kSoakToHost, plan.host_bytes, Executor::dma);
}

void SoakCopies::add(SoakLane lane, std::uint64_t bytes, Executor executor) {
  Device& own = rank_.device;
  Copying copying;
  copying.lane = lane;
  copying.executor = executor;
  copying.from = copying.to = own.info().name;
  Device* to = &own;
  if (lane == kSoakToPeer) {
    to = &rank_.team.device((rank_.index + plan_.shift) % rank_.size);
    copying.to = to->info().name;
  }
  const auto kind = [lane](SoakLane of_host) {
    return lane == of_host ? MemoryKind::pinned : MemoryKind::device;
  };
  if (lane == kSoakFromHost) copying.from = kHost;
  if (lane == kSoakToHost) copying.to = kHost;
  copying.source = own.allocate(bytes, kind(kSoakFromHost));
  copying.destination = to->allocate(bytes, kind(kSoakToHost));
  copying.stream = urgent_stream(own);
  copying.poisons = urgent_stream(*to);
  copies_.push_back(std::move(copying));
}

Fill SoakCopies::contents(const Copying& copying, int batch) const {
  return {FillKind::pattern, soak_seed(plan_, batch, copying.lane, rank_.index), 0, DType::fp32};
}

void SoakCopies::renew(int batch) {
  for (const Copying& each : copies_) {
    each.stream->fill(each.source.span(), contents(each, batch));
    each.poisons->fill(each.destination.span(), kUnwritten);
  }
  for (const Copying& each : copies_) {
    each.stream->synchronize(kSoakDeadline);
    each.poisons->synchronize(kSoakDeadline);
  }
}

void SoakCopies::enqueue() {
  for (const Copying& each : copies_) {
    each.stream->copy({each.destination.span(), each.source.span(), each.executor, {}});
  }
}

void SoakCopies::wait() {
  for (const Copying& each : copies_) each.stream->synchronize(kSoakDeadline);
}

std::vector<SoakFinding> SoakCopies::check(int batch, int& wrong) {
  std::vector<SoakFinding> findings;
  for (const Copying& each : copies_) {
    const Span span = each.destination.span();
    const Fill fill = contents(each, batch);
    if (!span.owner->has_contents(span)) continue;
    const auto difference = span.owner->check(span, fill);
    if (!difference) continue;
    ++wrong;
    findings.push_back(placed(each, *difference, fill));
  }
  return findings;
}

// Whether the source's memory has changed, the destination's does not keep what is written, or
// neither, so that the bytes changed on their way.
SoakFinding SoakCopies::placed(const Copying& copying, const Difference& difference,
                               const Fill& fill) const {
  const Span source = copying.source.span(), destination = copying.destination.span();
  const std::string what = fmt::format("a copy by {}: {}", name(copying.executor),
                                       difference_text(destination, difference, fill));
  if (const auto changed = source.owner->check(source, fill)) {
    return {SoakFault::memory, copying.from,
            "what it sends has changed: " + difference_text(source, *changed, fill)};
  }
  if (!keeps(destination, fill)) {
    return {SoakFault::memory, copying.to,
            what + "; the memory does not keep what is written to it"};
  }
  return {SoakFault::link, fmt::format("{} > {}", copying.from, copying.to), what};
}

std::uint64_t SoakCopies::bytes() const {
  std::uint64_t sum = 0;
  for (const Copying& each : copies_) sum += each.destination.bytes();
  return sum;
}

const Span& SoakCopies::arrived() const { return copies_.front().destination.span(); }

std::vector<Stream*> SoakCopies::streams() const {
  std::vector<Stream*> all;
  for (const Copying& each : copies_) {
    all.push_back(each.stream.get());
    all.push_back(each.poisons.get());
  }
  return all;
}

SoakCall::SoakCall(Rank& rank, CollectiveSession& session, const SoakRoundPlan& plan)
    : rank_(rank), plan_(plan), stream_(urgent_stream(rank.device)) {
  session.free_retired(rank);  // memory of earlier plans
  const Collective& collective = plan.collective;
  send_ = session.allocate(rank, send_bytes(collective, rank.index, rank.size));
  receive_ = session.allocate(rank, recv_bytes(collective, rank.index, rank.size));
  call_ = session.plan(rank, collective, {send_->span(), receive_->span()});
}

void SoakCall::renew(int batch) {
  if (receive_->span().bytes > 0) stream_->fill(receive_->span(), kUnwritten);
  if (send_->span().bytes > 0) {
    stream_->fill(send_->span(),
                  call_input(plan_.collective, rank_.size, rank_.index, seed(batch)));
  }
  stream_->synchronize(kSoakDeadline);
}

void SoakCall::wait() { stream_->synchronize(kSoakDeadline); }

std::vector<SoakFinding> SoakCall::check(int batch, int& wrong) {
  std::vector<SoakFinding> findings;
  const Span received = receive_->span();
  Device& device = rank_.device;
  if (received.bytes == 0 || !device.has_contents(received)) return findings;
  for (const ReceivedPart& part :
       call_result(plan_.collective, rank_.size, rank_.index, seed(batch), received.bytes)) {
    const Span span = received.slice(part.offset, part.bytes);
    const auto difference = device.check(span, part.fill);
    if (!difference) continue;
    ++wrong;
    if (findings.size() >= kMostSoakFindings) continue;
    const bool moved = part.from >= 0 && part.from != rank_.index;
    findings.push_back({SoakFault::collective,
                        moved ? fmt::format("{} > {}", rank_.team.device(part.from).info().name,
                                            device.info().name)
                              : device.info().name,
                        fmt::format("{} by {}: {}", name(plan_.collective.kind), plan_.engine,
                                    difference_text(span, *difference, part.fill))});
  }
  return findings;
}

SoakKept::SoakKept(Device& device, std::uint64_t bytes, std::uint64_t block) : device_(device) {
  try {
    for (std::uint64_t have = 0; have < bytes; have += block) {
      blocks_.push_back(device.allocate(std::min(block, bytes - have)));
    }
  } catch (const OutOfMemory&) {
    // As much as there is. A block goes back, for what the round allocates beside it.
    if (!blocks_.empty()) blocks_.pop_back();
  }
}

Fill SoakKept::contents(const SoakRoundPlan& plan, int rank, std::size_t block) {
  return {FillKind::pattern, soak_seed(plan, static_cast<int>(block), kSoakKept, rank), 0,
          DType::fp32};
}

void SoakKept::fill(const SoakRoundPlan& plan, int rank) {
  const auto stream = device_.make_stream();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    stream->fill(blocks_[i].span(), contents(plan, rank, i));
  }
  stream->synchronize(kSoakDeadline);
}

std::vector<SoakFinding> SoakKept::check(const SoakRoundPlan& plan, int rank, int& wrong) const {
  std::vector<SoakFinding> findings;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Span span = blocks_[i].span();
    const Fill fill = contents(plan, rank, i);
    if (!device_.has_contents(span)) continue;
    const auto difference = device_.check(span, fill);
    if (!difference) continue;
    ++wrong;
    if (findings.size() >= kMostSoakFindings) continue;
    const std::string what = difference_text(span, *difference, fill);
    findings.push_back({SoakFault::memory, device_.info().name,
                        fmt::format("block {} that it kept: {}; {}", i, what,
                                    keeps(span, fill) ? "written again it is right"
                                                      : "it does not keep what is written to it")});
  }
  return findings;
}

bool SoakKept::shrink() {
  constexpr std::size_t kShare = 8;
  if (blocks_.empty()) return false;
  blocks_.resize(blocks_.size() - std::max<std::size_t>(1, blocks_.size() / kShare));
  return true;
}

void SoakKept::flip_bit() {
  constexpr std::size_t kOffset = 4711;
  if (!blocks_.empty()) duet::flip_bit(blocks_.front().span(), kOffset);
}

std::uint64_t SoakKept::bytes() const {
  std::uint64_t sum = 0;
  for (const Buffer& block : blocks_) sum += block.bytes();
  return sum;
}

}  // namespace duet
