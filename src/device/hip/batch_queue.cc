#include "device/hip/batch_queue.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/error.h"

namespace duet::hip {
namespace {

constexpr std::uint32_t kPackets = 1024;  // of a queue
constexpr double kRoomSeconds = 120;      // a queue is full for no longer
constexpr double kEndSeconds = 1;         // copies that were submitted take no longer
constexpr std::chrono::microseconds kPoll{50};

constexpr std::size_t kPacketBytes = 64, kValueOffset = 8;
constexpr std::uint32_t kSystemScope = 2, kBarrierBit = 1u << 8;
constexpr std::uint32_t kHeader = kBarrierBit | kSystemScope << 9 | kSystemScope << 11;
// HSA_PACKET_TYPE_BARRIER_AND; HSA_PACKET_TYPE_VENDOR_SPECIFIC, which is 0, with
// HSA_AMD_PACKET_TYPE_BARRIER_VALUE in the third byte.
constexpr std::uint32_t kBarrierAnd = kHeader | 3, kBarrierValue = kHeader | 2u << 16;
constexpr std::uint32_t kGreaterOrEqual = 3;  // HSA_SIGNAL_CONDITION_GTE

// hsa_barrier_and_packet_t
struct BarrierAndPacket {
  std::uint32_t header = 0, reserved = 0;
  Hsa::Signal dependencies[5];
  std::uint64_t more_reserved = 0;
  Hsa::Signal completion;
};
// hsa_amd_barrier_value_packet_t
struct BarrierValuePacket {
  std::uint32_t header = 0, reserved = 0;
  Hsa::Signal signal;
  std::int64_t value = 0, mask = ~std::int64_t{0};
  std::uint32_t condition = kGreaterOrEqual, more_reserved = 0;
  std::uint64_t most_reserved[2] = {};
  Hsa::Signal completion;
};
static_assert(sizeof(BarrierAndPacket) == kPacketBytes);
static_assert(sizeof(BarrierValuePacket) == kPacketBytes);

std::uint64_t* word_of(const Buffer& spaced) {
  return reinterpret_cast<std::uint64_t*>(spaced_semaphore_at(spaced.span(), 0).word.data);
}

}  // namespace

PacketQueue::PacketQueue(const Hsa& hsa, Hsa::Agent gpu)
    : hsa_(hsa), queue_(hsa.make_queue(gpu, kPackets)) {}

PacketQueue::~PacketQueue() { hsa_.destroy(queue_); }

void PacketQueue::make_room(std::uint64_t packets) const {
  const double end = steady_now() + kRoomSeconds;
  while (next_ + packets > hsa_.executed(queue_) + kPackets) {
    if (steady_now() > end) throw Timeout("a queue for SDMA engines stayed full");
    std::this_thread::sleep_for(kPoll);
  }
}

// The first word makes the packet valid, so it is written last.
void PacketQueue::push(const void* packet, std::uint32_t first_word) {
  next_ = hsa_.take_index(queue_) + 1;
  const std::size_t slot = static_cast<std::size_t>((next_ - 1) % kPackets) * kPacketBytes;
  std::byte* const place = static_cast<std::byte*>(queue_->base) + slot;
  std::memcpy(place + sizeof first_word, static_cast<const std::byte*>(packet) + sizeof first_word,
              kPacketBytes - sizeof first_word);
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(place), first_word, __ATOMIC_RELEASE);
  hsa_.set(queue_->doorbell, static_cast<std::int64_t>(next_ - 1));
}

void PacketQueue::wait_for(const std::uint64_t* word, std::uint64_t value) {
  BarrierValuePacket packet;
  packet.signal.handle = reinterpret_cast<std::uintptr_t>(word) - kValueOffset;
  packet.value = static_cast<std::int64_t>(value);
  push(&packet, kBarrierValue);
}

void PacketQueue::count_down(Hsa::Signal counted, Hsa::Signal awaited) {
  BarrierAndPacket packet;
  packet.dependencies[0] = awaited;
  packet.completion = counted;
  push(&packet, kBarrierAnd);
}

BatchQueue::BatchQueue(GpuDevice& device, SdmaCopies& copies)
    : copies_(copies),
      hsa_(copies.hsa()),
      progress_(std::make_shared<Buffer>(device.allocate(kSpacedBytes, MemoryKind::pinned))),
      packets_(std::make_unique<PacketQueue>(hsa_, copies.agent())) {
  std::memcpy(progress_->span().data, &kSpacedFirst, sizeof kSpacedFirst);
  *word_of(*progress_) = 0;
}

bool BatchQueue::all_finished() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::all_of(batches_.begin(), batches_.end(),
                     [](const auto& each) { return each->finished; });
}

// The queue is gone, so signals that it would have counted down are set here, and ROCr calls what
// waits for them.
bool BatchQueue::close() {
  packets_.reset();
  const double end = steady_now() + kEndSeconds;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    for (const auto& each : batches_) {
      if (!each->submitted) hsa_.set(each->turn, 0);
    }
  }
  while (!all_finished()) {
    if (steady_now() > end) return false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const auto& each : batches_) {
        if (each->submitted && !each->finished && hsa_.value(each->done) == 0) {
          hsa_.set(each->passed, 0);
        }
      }
    }
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

// Signals of a failed batch may still be an engine's.
BatchQueue::~BatchQueue() {
  for (const auto& each : batches_) {
    for (const Hsa::Signal signal : {each->turn, each->done, each->passed}) hsa_.destroy(signal);
    if (each->failed) continue;
    for (const Hsa::Signal signal : each->signals) hsa_.destroy(signal);
  }
}

// With the lock. The packets have room.
BatchQueue::Batch& BatchQueue::open() {
  if (free_.empty()) {
    batches_.push_back(std::make_unique<Batch>());
    Batch& made = *batches_.back();
    made.owner = this;
    made.finished = true;
    made.turn = hsa_.make_signal();
    made.done = hsa_.make_signal();
    made.passed = hsa_.make_signal();
    free_.push_back(&made);
  }
  Batch& batch = *free_.back();
  for (const Hsa::Signal each : {batch.turn, batch.done, batch.passed}) hsa_.set(each, 1);
  hsa_.call_at_zero(batch.turn, &BatchQueue::submit, &batch);
  hsa_.call_at_zero(batch.passed, &BatchQueue::finish, &batch);
  free_.pop_back();
  batch.number = ++last_;
  batch.engine = 0;
  batch.steps.clear();
  batch.submitted = batch.finished = false;
  packets_->count_down(batch.turn);
  packets_->count_down(batch.passed, batch.done);
  waits_ = false;
  open_ = &batch;
  return batch;
}

bool BatchQueue::joins(const SdmaCopies::Route& route) const {
  if (open_ == nullptr || open_->submitted) return false;
  return route.to == route.from || open_->engine == 0 || open_->engine == route.engine;
}

void BatchQueue::wait(const std::uint64_t* word, std::uint64_t value) {
  packets_->make_room(1);
  const std::lock_guard<std::mutex> lock(mutex_);
  packets_->wait_for(word, value);
  waits_ = true;
  open_ = nullptr;
}

void BatchQueue::add(const Copy& copy) {
  const SdmaCopies::Route route = copies_.route_of(copy);
  packets_->make_room(2);
  const std::lock_guard<std::mutex> lock(mutex_);
  Batch& batch = joins(route) ? *open_ : open();
  if (batch.signals.size() <= batch.steps.size()) batch.signals.push_back(hsa_.make_signal());
  const bool within = route.to == route.from;
  if (!within) batch.engine = route.engine;
  batch.steps.push_back({{copy.destination.data,
                          route.to,
                          copy.source.data,
                          route.from,
                          copy.source.bytes,
                          route.engine,
                          nullptr,
                          {}},
                         within});
}

EventMark BatchQueue::mark() {
  packets_->make_room(2);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (waits_) open();
  return {std::shared_ptr<std::uint64_t>(progress_, word_of(*progress_)), last_};
}

// On a thread of ROCr's.
bool BatchQueue::submit(std::int64_t, void* data) {
  Batch& batch = *static_cast<Batch*>(data);
  const std::lock_guard<std::mutex> lock(batch.owner->mutex_);
  batch.submitted = true;
  batch.owner->make_copies(batch);
  return false;
}

// The queue goes on where there is nothing to copy, and after an error, for which callers of
// rethrow() ask.
void BatchQueue::make_copies(Batch& batch) {
  Hsa::Status status = Hsa::kSuccess;
  const std::size_t count = closed_ ? 0 : batch.steps.size();
  for (std::size_t i = 0; i < count && status == Hsa::kSuccess; ++i) {
    Step& step = batch.steps[i];
    if (step.within && batch.engine != 0) step.copy.engine = batch.engine;
    if (i > 0) step.copy.after = &batch.signals[i - 1];
    step.copy.done = i + 1 == count ? batch.done : batch.signals[i];
    hsa_.set(step.copy.done, 1);
    status = hsa_.copy(step.copy);
    if (status != Hsa::kSuccess) copies_.fail(step.copy, status);
  }
  batch.failed = status != Hsa::kSuccess;
  if (count == 0 || batch.failed) hsa_.set(batch.done, 0);
}

// On a thread of ROCr's, which may call it for a later batch first.
bool BatchQueue::finish(std::int64_t, void* data) {
  Batch& batch = *static_cast<Batch*>(data);
  BatchQueue& queue = *batch.owner;
  const std::lock_guard<std::mutex> lock(queue.mutex_);
  std::uint64_t* const progress = word_of(*queue.progress_);
  if (*progress < batch.number) __atomic_store_n(progress, batch.number, __ATOMIC_RELEASE);
  if (queue.open_ == &batch) queue.open_ = nullptr;
  batch.finished = true;
  if (!batch.failed) queue.free_.push_back(&batch);
  return false;
}

}  // namespace duet::hip
