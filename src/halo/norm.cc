#include "halo/norm.h"

#include <chrono>
#include <cstdint>

#include "core/clock.h"
#include "core/deadline.h"

namespace duet {
namespace {

constexpr int kPoisonByte = 0xDB;
// No sum of squares has these bits.
constexpr std::uint64_t kNotThere = ~std::uint64_t{0};
// So long the host polls for a norm; then it waits for the stream, which may have failed.
constexpr std::chrono::milliseconds kPolling{10};

std::uint64_t* word(const Span& span) { return reinterpret_cast<std::uint64_t*>(span.data); }

Collective gather_of_sums() {
  Collective gather;
  gather.kind = CollectiveKind::all_gather;
  gather.dtype = DType::int8;
  gather.count = sizeof(double);
  return gather;
}

}  // namespace

NormReduction::NormReduction(Rank& rank, NormMode mode, CollectiveSession* gathers,
                             std::int64_t partials, int iterations)
    : device_(rank.device), mode_(mode), iterations_(iterations) {
  if (mode == NormMode::none) return;
  host_polls_ = mode == NormMode::host && rank.device.info().is_gpu();
  totals_ = rank.device.allocate(kDouble * static_cast<std::size_t>(iterations),
                                 host_polls_ ? MemoryKind::pinned : MemoryKind::device);
  if (mode == NormMode::host && !host_polls_) {
    read_ = rank.device.allocate(kDouble, MemoryKind::pinned);
  }
  if (partials == 0) return;
  sweeper_ = make_sweeper(rank.device);
  partial_bytes_ = static_cast<std::size_t>(partials) * kDouble;
  partials_ = rank.device.allocate(2 * partial_bytes_);
  if (gathers != nullptr) {
    own_ = rank.device.allocate(kDouble);
    gathered_ = rank.device.allocate(kDouble * static_cast<std::size_t>(rank.size));
    gather_ = gathers->plan(rank, gather_of_sums(), {own_.span(), gathered_.span()});
    blocks_ = gather_->host_driven();
  }
  if (mode != NormMode::delayed) return;
  side_ = rank.device.make_stream({rank.device.info().priorities - 1});
  swept_ = rank.device.make_event(EventUse::order);
  for (auto& event : reduced_) event = rank.device.make_event(EventUse::order);
}

Span NormReduction::partials(int index) const {
  if (sweeper_ == nullptr) return {};
  return partials_.slice(static_cast<std::size_t>(index % 2) * partial_bytes_, partial_bytes_);
}

NormOfSweep NormReduction::of_plan(int index) const {
  if (mode_ == NormMode::none || sweeper_ != nullptr) return {};
  if (mode_ != NormMode::delayed) return {true, total(index), {}};
  return {true, index + 1 == iterations_ ? total(index) : Span{},
          index > 0 ? total(index - 1) : Span{}};
}

// Partial sums of the iteration before the last must have been added up. A call waits for its own
// events alone: finish() has waited for those of the call before, and a graph may wait for no event
// that it has not recorded.
void NormReduction::before(Stream& stream, int index) {
  if (host_polls_) __atomic_store_n(word(total(index)), kNotThere, __ATOMIC_RELEASE);
  if (side_ != nullptr && index >= 2) stream.wait(*reduced_[index % 2]);
}

void NormReduction::reduce(Stream& stream, int index) {
  add_partials(stream, index);
  add_ranks(stream, index);
}

void NormReduction::add_partials(Stream& stream, int index) {
  sweeper_->sum(stream, partials(index), gather_ == nullptr ? total(index) : own_.span());
}

void NormReduction::add_ranks(Stream& stream, int index) {
  if (gather_ == nullptr) return;
  gather_->enqueue(stream);
  sweeper_->sum(stream, gathered_.span(), total(index));
}

void NormReduction::finish_reducing(int index) {
  add_ranks(*side_, index);
  side_->record(*reduced_[index % 2]);
}

void NormReduction::after(Stream& stream, int index) {
  if (side_ == nullptr) {
    if (sweeper_ != nullptr) reduce(stream, index);
    if (mode_ == NormMode::host) wait_for_total(stream, index);
    return;
  }
  if (blocks_ && index > 0) finish_reducing(index - 1);
  stream.record(*swept_);
  side_->wait(*swept_);
  add_partials(*side_, index);
  if (!blocks_) finish_reducing(index);
}

void NormReduction::wait_for_total(Stream& stream, int index) {
  if (host_polls_) {
    const auto until = SteadyClock::now() + kPolling;
    while (SteadyClock::now() < until) {
      if (__atomic_load_n(word(total(index)), __ATOMIC_ACQUIRE) != kNotThere) return;
    }
  } else {
    stream.copy({read_.span(), total(index), Executor::dma, {}});
  }
  stream.synchronize(kDefaultDeadlineSeconds);
}

void NormReduction::finish(Stream& stream) {
  if (side_ == nullptr) return;
  if (blocks_) finish_reducing(iterations_ - 1);
  stream.wait(*reduced_[(iterations_ - 1) % 2]);
}

void NormReduction::poison() {
  if (mode_ == NormMode::none) return;
  for (const Buffer* buffer : {&partials_, &own_, &gathered_, &totals_}) {
    const std::vector<std::byte> poison(buffer->bytes(), std::byte{kPoisonByte});
    if (buffer->bytes() > 0) device_.write(buffer->span(), poison.data());
  }
}

bool NormReduction::has_contents() const {
  return mode_ == NormMode::none || device_.has_contents(totals_.span());
}

std::vector<double> NormReduction::sums() const {
  std::vector<double> sums(mode_ == NormMode::none ? 0 : static_cast<std::size_t>(iterations_));
  if (!sums.empty()) device_.read(totals_.span(), sums.data());
  return sums;
}

}  // namespace duet
