// Copies by SDMA engines that Duet chooses (Executor::sdma).
//
//   stream                          CPU                      engine of the source's GPU
//   record `released`
//   call submit() ----------------> two copies ------------> the bytes
//   wait until the word is 1 <------------------------------ then 1 into the word
//   write 2: the ticket is free
//
// - The event releases to system scope: it writes the L2 cache back, which engines do not read.
// - Copies are submitted when their turn has come, so that none lies in an engine's queue before
//   one for which it waits.
// - The second copy tells the stream, without the CPU. It takes the same engine, behind the first.
#include "device/hip/sdma.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "device/gpu/stream.h"

namespace duet::hip {
namespace {

constexpr std::uint64_t kUnused = 0, kArrived = 1, kPassed = 2;  // values of a ticket's word
constexpr std::uint64_t kConstants[] = {kArrived, 0};
constexpr std::size_t kWordStride = 64;  // bytes
constexpr std::size_t kTicketsAtOnce = 64;
constexpr double kBusySeconds = 1;  // a GPU's engines are all busy for no longer
constexpr std::chrono::microseconds kPause{50};

std::uint32_t idle_or_recommended(const Hsa& hsa, Hsa::Agent to, Hsa::Agent from) {
  const double end = steady_now() + kBusySeconds;
  while (true) {
    if (const std::uint32_t mask = hsa.engines(to, from); mask != 0) return mask;
    if (steady_now() > end) {
      throw Unavailable("sdma: ROCr names no engine for copies between these devices");
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

std::uint32_t EngineChoice::engine(const Hsa& hsa, Hsa::Agent to, Hsa::Agent from) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::uint32_t& kept = kept_[{to.handle, from.handle}];
  if (kept == 0) kept = least_used(idle_or_recommended(hsa, to, from));
  return kept;
}

std::uint32_t EngineChoice::least_used(std::uint32_t engines) {
  std::uint32_t best = 0;
  for (std::uint32_t rest = engines; rest != 0; rest &= rest - 1) {
    const std::uint32_t engine = rest & (~rest + 1);
    if (best == 0 || uses_[engine] < uses_[best]) best = engine;
  }
  ++uses_[best];
  return best;
}

SdmaCopies::SdmaCopies(GpuDevice& device)
    : device_(device),
      hsa_(Hsa::instance()),
      constants_(device.allocate_coherent(sizeof kConstants)),
      agent_(hsa_.owner_of(constants_.span().data)) {
  device.write(constants_.span(), kConstants);
  add_tickets();
  cpu_ = hsa_.owner_of(words_.front().span().data);
}

// To free the words waits for the device. An engine counts the last signal down after it has
// written the word; signals that engines still use are left.
SdmaCopies::~SdmaCopies() {
  words_.clear();
  const double end = steady_now() + kBusySeconds;
  for (const std::unique_ptr<Ticket>& ticket : tickets_) {
    forget(hipEventDestroy(ticket->released));
    while (!engines_are_done(*ticket) && steady_now() < end) std::this_thread::sleep_for(kPause);
    if (!engines_are_done(*ticket)) continue;
    hsa_.destroy(ticket->move.done);
    hsa_.destroy(ticket->tell.done);
  }
}

// The GPU that has memory of another process. Throws Unavailable where this process's ROCr does not
// see that GPU, or takes the memory for the host's (handles without dmabufs, of memory that the CPU
// cannot address).
Hsa::Agent SdmaCopies::gpu_with(const Span& imported) const {
  const Hsa::Agent owner = hsa_.find_owner(imported.data);
  if (hsa_.is_gpu(owner)) return owner;
  throw Unavailable(
      "sdma: ROCr does not tell which GPU has memory of another process: expected that each "
      "process sees all GPUs (ROCR_VISIBLE_DEVICES hides some; HIP_VISIBLE_DEVICES does not)");
}

// ROCr lets the GPU copy that is named for the source, or for the destination where the source is
// the host's memory; it does not look whose the addresses are. It names no engines for copies
// within a GPU; those for copies to the host make them.
//
// Memory of another process is mapped for the GPU that imported it, which therefore copies. Named
// as its destination is the GPU that has it, as its source the importer; in both cases the engine
// is that of the link between the two.
SdmaCopies::Route SdmaCopies::route_of(const Copy& copy) const {
  for (const Span* side : {&copy.source, &copy.destination}) {
    if (side->kind == MemoryKind::device || side->kind == MemoryKind::pinned) continue;
    if (side->kind == MemoryKind::peer) continue;
    throw Unavailable(
        fmt::format("sdma: {} memory: expected device or pinned memory", name(side->kind)));
  }
  const bool from_host = gpu::is_host_memory(copy.source);
  if (from_host && gpu::is_host_memory(copy.destination)) {
    throw Unavailable("sdma: expected device memory on one side at least");
  }
  Route route;
  route.copier = &of(from_host ? copy.destination : copy.source);
  for (const Span* side : {&copy.source, &copy.destination}) {
    device_.machine().require_reach(route.copier->device_, *side);
  }
  const bool to_peer = copy.destination.kind == MemoryKind::peer && !from_host;
  route.to = to_peer ? gpu_with(copy.destination) : agent_of(copy.destination);
  route.from = agent_of(copy.source);
  Hsa::Agent end = route.to;  // of the link
  if (copy.source.kind == MemoryKind::peer && end == route.from) end = gpu_with(copy.source);
  if (end == route.from) end = cpu_;
  EngineChoice& choice = route.copier->choice_;
  route.engine = choice.engine(hsa_, end, route.from);
  route.telling_engine = from_host ? choice.engine(hsa_, cpu_, route.copier->agent_) : route.engine;
  return route;
}

std::string SdmaCopies::engine_of(const Copy& copy) {
  const Route route = route_of(copy);
  return fmt::format("SDMA {} of {}", __builtin_ctz(route.engine),
                     route.copier->device_.info().name);
}

void SdmaCopies::add_tickets() {
  words_.push_back(device_.allocate(kTicketsAtOnce * kWordStride, MemoryKind::pinned));
  device_.use();
  for (std::size_t i = 0; i < kTicketsAtOnce; ++i) {
    auto ticket = std::make_unique<Ticket>();
    ticket->owner = this;
    ticket->word = reinterpret_cast<std::uint64_t*>(words_.back().span().data + i * kWordStride);
    *ticket->word = kPassed;
    DUET_GPU_CHECK(hipEventCreateWithFlags(&ticket->released,
                                           hipEventDisableTiming | hipEventReleaseToSystem));
    ticket->move.done = hsa_.make_signal();
    ticket->tell.done = hsa_.make_signal();
    hsa_.set(ticket->move.done, 0);
    hsa_.set(ticket->tell.done, 0);
    tickets_.push_back(std::move(ticket));
  }
}

// Of a copy whose second one was not taken, the first one may still be under way.
bool SdmaCopies::engines_are_done(const Ticket& ticket) const {
  return hsa_.value(ticket.move.done) == 0 && hsa_.value(ticket.tell.done) == 0;
}

bool SdmaCopies::is_free(const Ticket& ticket) const {
  return __atomic_load_n(ticket.word, __ATOMIC_ACQUIRE) == kPassed && engines_are_done(ticket);
}

// In turn, because the first in use are the first to become free.
SdmaCopies::Ticket& SdmaCopies::take_ticket() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!is_free(*tickets_[next_ % tickets_.size()])) {
    next_ = tickets_.size();
    add_tickets();
  }
  Ticket& ticket = *tickets_[next_++ % tickets_.size()];
  __atomic_store_n(ticket.word, kUnused, __ATOMIC_RELEASE);
  hsa_.set(ticket.move.done, 1);
  hsa_.set(ticket.tell.done, 1);
  return ticket;
}

void SdmaCopies::copy(const Copy& copy, hipStream_t stream) {
  if (is_captured(stream)) {
    throw Unavailable("sdma: a copy cannot be captured, because the CPU submits it");
  }
  const Route route = route_of(copy);
  Ticket& ticket = take_ticket();
  ticket.move = {copy.destination.data, route.to,     copy.source.data, route.from,
                 copy.source.bytes,     route.engine, nullptr,          ticket.move.done};
  ticket.tell = {ticket.word,
                 cpu_,
                 route.copier->one().data,
                 route.copier->agent_,
                 sizeof kArrived,
                 route.telling_engine,
                 &ticket.move.done,
                 ticket.tell.done};
  device_.use();  // a peer's copies may just have been made
  DUET_GPU_CHECK(hipEventRecord(ticket.released, stream));
  stream_call(stream, &SdmaCopies::submit, &ticket);
  stream_wait(stream, ticket.word, kArrived);
  stream_write(stream, ticket.word, kPassed);
}

// On a thread of HIP's.
void SdmaCopies::submit(void* data) {
  const Ticket& ticket = *static_cast<Ticket*>(data);
  const Hsa& hsa = ticket.owner->hsa_;
  Hsa::Status status = hsa.copy(ticket.move);
  if (status == Hsa::kSuccess) {
    status = hsa.copy(ticket.tell);
  } else {
    hsa.set(ticket.move.done, 0);
  }
  if (status == Hsa::kSuccess) return;
  ticket.owner->fail(ticket.move, status);
  // The stream goes on. Whoever asks for its state gets the error.
  hsa.set(ticket.tell.done, 0);
  __atomic_store_n(ticket.word, kArrived, __ATOMIC_RELEASE);
}

void SdmaCopies::fail(const Hsa::EngineCopy& copy, Hsa::Status status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  failure_ = fmt::format("{}: a copy of {} bytes by SDMA {}: {}", device_.info().name, copy.bytes,
                         __builtin_ctz(copy.engine), hsa_.text(status));
}

void SdmaCopies::rethrow() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!failure_.empty()) throw Error(std::exchange(failure_, {}));
}

std::unique_ptr<EngineCopies> make_engine_copies(GpuDevice& device) {
  return std::make_unique<SdmaCopies>(device);
}

}  // namespace duet::hip
