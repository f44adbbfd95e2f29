#include "device/device.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<MemoryKind> kMemoryKinds[] = {{MemoryKind::device, "device"},
                                                   {MemoryKind::pinned, "pinned"},
                                                   {MemoryKind::managed, "managed"},
                                                   {MemoryKind::pageable, "pageable"},
                                                   {MemoryKind::peer, "peer"}};

constexpr NamedValue<Executor> kExecutors[] = {{Executor::dma, "dma"},
                                               {Executor::sdma, "sdma"},
                                               {Executor::kernel, "kernel"},
                                               {Executor::host, "host"}};

}  // namespace

const char* name(MemoryKind kind) { return name_of(kMemoryKinds, kind); }

const char* name(Executor executor) { return name_of(kExecutors, executor); }

Executor parse_executor(std::string_view text) {
  return parse_name(kExecutors, "unknown executor", text);
}

void refuse_sdma() {
  throw Unavailable("sdma needs AMD GPUs (--device hip), whose engines Duet can choose: use dma");
}

void check_units(const DeviceInfo& info, int units) {
  if (units == 0 || units == info.compute_units) return;
  if (info.unit_grain == 0) {
    throw Unavailable(
        fmt::format("{} cannot restrict a stream to some of its compute units", info.name));
  }
  const int left_out = info.compute_units - units;
  if (units > 0 && left_out > 0 && left_out % info.unit_grain == 0) return;
  throw BadArgument(fmt::format(
      "{}: a stream on {} of {} compute units: expected multiples of {} to be left to others",
      info.name, units, info.compute_units, info.unit_grain));
}

Span Span::slice(std::size_t offset, std::size_t length) const {
  if (offset > bytes || length > bytes - offset) {
    throw BadArgument(fmt::format("[{}, {} + {}) does not lie in a span of {} bytes", offset,
                                  offset, length, bytes));
  }
  return {owner, data + offset, length, kind};
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    reset();
    span_ = std::exchange(other.span_, Span{});
  }
  return *this;
}

void Buffer::reset() noexcept {
  if (span_.data != nullptr) span_.owner->release(span_);
  span_ = {};
}

Buffer Device::allocate(std::uint64_t bytes, MemoryKind kind) {
  if (kind == MemoryKind::peer) throw BadArgument("peer memory is mapped, not allocated");
  if (bytes == 0) return Buffer(Span{this, nullptr, 0, kind});
  return Buffer(acquire(bytes, kind));
}

Buffer Device::allocate_coherent(std::uint64_t bytes) {
  if (bytes == 0) return allocate(0);
  return Buffer(acquire_coherent(bytes));
}

std::string Device::copy_engine(const Copy&) { refuse_sdma(); }

MemoryDescriptor Device::export_memory(const Span&) {
  throw Unavailable(fmt::format("{}: its memory cannot be shared between processes", info().name));
}

Span Device::import_memory(const MemoryDescriptor&) {
  throw Unavailable(fmt::format("{}: it cannot map other processes' memory", info().name));
}

namespace {

class OwnView : public CpuView {
 public:
  explicit OwnView(const Span& span) : span_(span) {}
  std::byte* data() const override { return span_.data; }

 private:
  Span span_;
};

}  // namespace

std::unique_ptr<CpuView> Device::view(const Span& span) {
  if (span.kind != MemoryKind::device || info().cpu_addressable) {
    return std::make_unique<OwnView>(span);
  }
  return view_own(span);
}

std::unique_ptr<CpuView> Device::view_own(const Span&) {
  throw Unavailable(fmt::format("{}: the CPU cannot access its memory", info().name));
}

void Device::finish(double) {}

Dmabuf Device::export_dmabuf(const Span&) {
  throw Unavailable(fmt::format("{}: its memory has no dmabuf", info().name));
}

Span Device::adopt(void*, std::uint64_t) {
  throw Unavailable(fmt::format("{}: it cannot use memory that it did not allocate", info().name));
}

std::unique_ptr<Stream> Device::wrap(void*) {
  throw Unavailable(fmt::format("{}: it has no native streams to wrap", info().name));
}

void Stream::handshake(const Handshake& handshake) {
  for (const Semaphore& semaphore : handshake.signals) signal(semaphore, 1);
  for (const Semaphore& semaphore : handshake.waits) wait(semaphore, 1);
  for (const Semaphore& semaphore : handshake.waits) signal(semaphore, 0);
}

Semaphore semaphore_at(const Buffer& buffer, std::size_t index) {
  return {buffer.slice(index * sizeof(std::uint64_t), sizeof(std::uint64_t))};
}

}  // namespace duet
