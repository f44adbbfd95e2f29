#include "nccl_shim/host/device.h"

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "nccl_shim/host/memory.h"
#include "nccl_shim/host/packets.h"
#include "nccl_shim/host/reduce.h"
#include "nccl_shim/host/stream.h"

namespace duet::nccl_shim::host {
namespace {

HostEvent& of(StreamEvent& event) { return static_cast<HostEvent&>(event); }

class HostLaunchRecord : public LaunchRecord {
 public:
  HostLaunchRecord(HostEvent& event, const HostStream::Capture& captured)
      : graph_(captured.graph), record_(graph_->record_at_launch(event, captured.position())) {}
  void extend(void* stream) override {
    graph_->extend_record(record_, HostStream::of(stream).capture().position());
  }

 private:
  std::shared_ptr<HostGraph> graph_;
  std::size_t record_;
};

void perform(const WordOperation& operation) {
  if (operation.what == WordOperation::What::set) {
    operation.word->store(operation.value, std::memory_order_release);
    return;
  }
  while (!has_come(operation.word->load(std::memory_order_acquire), operation.value)) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace

HostShimDevice::HostShimDevice(std::uint64_t identity, unsigned delay_microseconds)
    : identity_(identity), delay_(delay_microseconds) {}

ShimDevice::Stream HostShimDevice::create_stream() {
  return new HostStream(delay_, static_cast<unsigned>(identity_) * 100 + ++streams_);
}

void HostShimDevice::destroy_stream(Stream stream) { delete &HostStream::of(stream); }

std::uint64_t HostShimDevice::stream_id(Stream stream) {
  HostStream& asked = HostStream::of(stream);
  if (asked.capture().graph != nullptr) throw BadArgument("a stream in a capture has no id");
  return asked.id;
}

std::unique_ptr<StreamEvent> HostShimDevice::create_event() {
  return std::make_unique<HostEvent>();
}

void HostShimDevice::record(StreamEvent& event, Stream stream) {
  of(event).record(HostStream::of(stream));
}

void HostShimDevice::wait(Stream stream, StreamEvent& event) {
  of(event).wait(HostStream::of(stream));
}

bool HostShimDevice::done(StreamEvent& event) { return of(event).done(); }

void HostShimDevice::words(Stream stream, const std::vector<WordOperation>& operations) {
  for (const WordOperation& each : operations) {
    HostStream::of(stream).enqueue([each] { perform(each); });
  }
}

void HostShimDevice::copy(Stream stream, void* to, const void* from, std::size_t bytes) {
  HostStream::of(stream).enqueue([=] { std::memmove(to, from, bytes); });
}

std::uint64_t HostShimDevice::capture(Stream stream) {
  const std::shared_ptr<HostGraph> graph = HostStream::of(stream).capture().graph;
  return graph == nullptr ? kNotCaptured : graph->id;
}

void HostShimDevice::wait_at_launch(Stream stream, StreamEvent& event) {
  const HostStream::Capture captured = HostStream::of(stream).capture();
  captured.graph->wait_at_launch(captured.branch, of(event));
}

std::unique_ptr<LaunchRecord> HostShimDevice::record_at_launch(StreamEvent& event, Stream stream) {
  return std::make_unique<HostLaunchRecord>(of(event), HostStream::of(stream).capture());
}

void HostShimDevice::reduce(Stream stream, const PartsToReduce& reduced) {
  HostStream::of(stream).enqueue([reduced] { reduce_parts(reduced); });
}

void HostShimDevice::exchange(Stream stream, const PacketExchange& exchanged) {
  HostStream::of(stream).enqueue([exchanged] { exchange_packets(exchanged); });
}

void HostShimDevice::clear(void* base, std::size_t bytes) { std::memset(base, 0, bytes); }

std::vector<Allocation> HostShimDevice::allocations(const void* pointer, std::size_t bytes) {
  return {find_allocation(pointer, bytes)};
}

bool HostShimDevice::exists(const Allocation& allocation) { return host::exists(allocation); }

ExportedMemory HostShimDevice::export_memory(const Allocation& allocation) {
  return host::export_memory(allocation);
}

void* HostShimDevice::import_memory(const ExportedMemory& memory, std::size_t bytes) {
  return host::import_memory(memory, bytes);
}

void HostShimDevice::unimport_memory(void* base, std::size_t bytes) { munmap(base, bytes); }

void* HostShimDevice::allocate(std::size_t bytes) { return host::allocate(bytes); }

void HostShimDevice::free(void* base) { release(base); }

void HostShimDevice::synchronise(Stream stream) { HostStream::of(stream).synchronise(); }

}  // namespace duet::nccl_shim::host
