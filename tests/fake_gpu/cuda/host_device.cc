#include "fake_gpu/cuda/host_device.h"

#include <cstring>

#include "core/error.h"
#include "fake_gpu/cuda/kernels.h"

namespace duet::nccl_shim::host {
namespace {

using fake_gpu::Kind;
using fake_gpu::Range;
using Capture = fake_gpu::Stream::Capture;

fake_gpu::Stream& of(ShimDevice::Stream stream) { return fake_gpu::Stream::of(stream); }

struct HostEvent : StreamEvent {
  fake_gpu::Event event;
};

fake_gpu::Event& of(StreamEvent& event) { return static_cast<HostEvent&>(event).event; }

class HostLaunchRecord : public LaunchRecord {
 public:
  HostLaunchRecord(fake_gpu::Event& event, const Capture& captured)
      : graph_(captured.graph), record_(graph_->record_at_launch(event, captured.position())) {}
  void extend(void* stream) override {
    graph_->extend_record(record_, of(stream).capture().position());
  }

 private:
  std::shared_ptr<fake_gpu::Graph> graph_;
  std::size_t record_;
};

}  // namespace

Range allocated(const void* pointer, std::size_t bytes) {
  const std::optional<Range> found = fake_gpu::memory().find(pointer);
  if (found && found->kind == Kind::device && found->has(pointer, bytes)) return *found;
  throw Unavailable("not in an allocation of a host device");
}

void enqueue_word(fake_gpu::Stream& stream, const WordOperation& operation) {
  if (operation.what == WordOperation::What::set) {
    stream.enqueue(
        [operation] { operation.word->store(operation.value, std::memory_order_release); });
  } else {
    stream.enqueue({}, [operation] {
      return has_come(operation.word->load(std::memory_order_acquire), operation.value);
    });
  }
}

ShimDevice::Stream HostShimDevice::create_stream() {
  return new fake_gpu::Stream(device(), delay_,
                              static_cast<unsigned>(identity_) * 100 + ++streams_);
}

void HostShimDevice::destroy_stream(Stream stream) {
  synchronise(stream);
  delete &of(stream);
}

std::uint64_t HostShimDevice::stream_id(Stream stream) {
  if (capture(stream) != kNotCaptured) throw BadArgument("a stream in a capture has no id");
  return of(stream).id;
}

std::unique_ptr<StreamEvent> HostShimDevice::create_event() {
  return std::make_unique<HostEvent>();
}

void HostShimDevice::record(StreamEvent& event, Stream stream) { of(event).record(of(stream)); }

void HostShimDevice::wait(Stream stream, StreamEvent& event) { of(event).wait(of(stream)); }

bool HostShimDevice::done(StreamEvent& event) { return of(event).done(); }

void HostShimDevice::words(Stream stream, const std::vector<WordOperation>& operations) {
  for (const WordOperation& each : operations) enqueue_word(of(stream), each);
}

void HostShimDevice::copy(Stream stream, void* to, const void* from, std::size_t bytes) {
  of(stream).enqueue([=] { std::memmove(to, from, bytes); });
}

std::uint64_t HostShimDevice::capture(Stream stream) {
  const std::shared_ptr<fake_gpu::Graph> graph = of(stream).capture().graph;
  return graph == nullptr ? kNotCaptured : graph->id;
}

void HostShimDevice::wait_at_launch(Stream stream, StreamEvent& event) {
  const Capture captured = of(stream).capture();
  captured.graph->wait_at_launch(captured.branch, of(event));
}

std::unique_ptr<LaunchRecord> HostShimDevice::record_at_launch(StreamEvent& event, Stream stream) {
  return std::make_unique<HostLaunchRecord>(of(event), of(stream).capture());
}

void HostShimDevice::reduce(Stream stream, const PartsToReduce& reduced) {
  of(stream).enqueue([reduced] { reduce_parts(reduced); });
}

void HostShimDevice::exchange(Stream stream, const PacketExchange& exchanged) {
  of(stream).enqueue([exchanged] { exchange_packets(exchanged); });
}

void HostShimDevice::exchange(Stream stream, const ChunkExchange& exchanged) {
  const auto words = reinterpret_cast<std::uintptr_t>(exchanged.words);
  of(stream).enqueue([arguments = cuda::chunk_arguments(exchanged, words),
                      reduced = exchanged.reduced] { exchange_chunks(arguments, reduced); });
}

void HostShimDevice::clear(void* base, std::size_t bytes) { std::memset(base, 0, bytes); }

std::vector<Allocation> HostShimDevice::allocations(const void* pointer, std::size_t bytes) {
  const Range found = allocated(pointer, bytes);
  return {{found.begin, found.bytes, found.id}};
}

bool HostShimDevice::exists(const Allocation& allocation) {
  const auto found = fake_gpu::memory().find(reinterpret_cast<const void*>(allocation.base));
  return found && found->id == allocation.id;
}

ExportedMemory HostShimDevice::export_memory(const Allocation& allocation) {
  const auto handle = fake_gpu::memory().share(reinterpret_cast<const void*>(allocation.base));
  if (!handle) throw Unavailable("not an allocation that can be exported");
  ExportedMemory memory{};
  static_assert(sizeof *handle <= sizeof memory.bytes);
  std::memcpy(memory.bytes, &*handle, sizeof *handle);
  return memory;
}

void* HostShimDevice::import_memory(const ExportedMemory& memory, std::size_t bytes) {
  fake_gpu::Handle handle;
  std::memcpy(&handle, memory.bytes, sizeof handle);
  void* const base = bytes == handle.bytes ? fake_gpu::memory().import(device(), handle) : nullptr;
  if (base == nullptr) throw Unavailable("memory that is not lent any more, or cannot be mapped");
  return base;
}

void HostShimDevice::unimport_memory(void* base, std::size_t) {
  fake_gpu::memory().release(Kind::imported, base, true);
}

void* HostShimDevice::allocate(std::size_t bytes) {
  void* const base = fake_gpu::memory().allocate(Kind::device, device(), bytes, false);
  if (base == nullptr) throw OutOfMemory(std::to_string(bytes) + " B of a host device");
  return base;
}

void HostShimDevice::free(void* base) {
  if (fake_gpu::memory().release(Kind::device, base, true)) return;
  throw BadArgument("not an allocation of a host device");
}

void HostShimDevice::synchronise(Stream stream) { of(stream).synchronise(); }

}  // namespace duet::nccl_shim::host
