#include "fabric/bounce/staged_rail.h"

#include <utility>
#include <vector>

#include "core/packing.h"

namespace duet {

struct StagedRail::StagedMemory : RegisteredMemory {
  ~StagedMemory() override { registered->erase(number); }

  std::shared_ptr<Buffer> bounce;
  std::unique_ptr<RailMemory> bounce_memory;  // the bounce buffer's registration
  std::shared_ptr<StagedByNumber> registered;
};

std::shared_ptr<Buffer> BounceBuffers::for_span(const Span& span) {
  std::weak_ptr<Buffer>& known = buffers_[span.data];
  std::shared_ptr<Buffer> buffer = known.lock();
  if (buffer != nullptr && buffer->bytes() == span.bytes) return buffer;
  buffer = std::make_shared<Buffer>(span.owner->allocate(span.bytes, MemoryKind::pinned));
  known = buffer;
  return buffer;
}

StagedRail::StagedRail(std::unique_ptr<Rail> rail, Device& device, int self,
                       std::shared_ptr<BounceBuffers> bounce_buffers)
    : IndirectRail(std::move(rail), device, self), bounce_buffers_(std::move(bounce_buffers)) {}

std::unique_ptr<IndirectRail::RegisteredMemory> StagedRail::register_device_memory(
    const Span& span) {
  auto memory = std::make_unique<StagedMemory>();
  memory->registered = registered_;
  memory->bounce = bounce_buffers_->for_span(span);
  memory->bounce_memory = library_rail().register_memory(memory->bounce->span());
  memory->number = ++last_number_;
  memory->text = pack({std::to_string(memory->number), memory->bounce_memory->descriptor()});
  registered_->emplace(memory->number, memory.get());
  return memory;
}

std::shared_ptr<const RemoteMemory> StagedRail::import_device_memory(
    int peer, const std::string& descriptor) {
  const std::vector<std::string> items = unpack(descriptor);
  auto remote = std::make_shared<RemoteMemory>(*library_rail().import_memory(peer, items.at(1)));
  remote->number = std::stoull(items.at(0));
  return remote;
}

StagedRail::StagedRange StagedRail::range_of(const StagedMemory& memory, std::uint64_t offset,
                                             std::uint64_t bytes) {
  return {memory.span.slice(offset, bytes), memory.bounce->slice(offset, bytes)};
}

StagedRail::StagedRange StagedRail::range_of(std::uint64_t operation) const {
  const RailPost& post = this->operation(operation);
  const auto& memory = static_cast<const StagedMemory&>(memory_of(post));
  return range_of(memory, static_cast<std::uint64_t>(post.data - memory.span.data), post.bytes);
}

void StagedRail::start_operation(std::uint64_t operation) {
  switch (this->operation(operation).call) {
    case RailCall::read:
      return send_request(operation, ControlType::read_request);
    case RailCall::receive:
      return forward_bounce(operation);
    default:
      break;
  }
  const StagedRange range = range_of(operation);
  copies_out().start(range.bounce, range.memory, [this, operation] { forward_bounce(operation); });
}

// Posts the operation on the bounce buffer. The immediate value of a write_imm goes with
// write_arrived, since the data are not in the peer's memory when the rail's write ends.
void StagedRail::forward_bounce(std::uint64_t operation) {
  RailPost post = this->operation(operation);
  post.memory = static_cast<const StagedMemory&>(memory_of(post)).bounce_memory.get();
  post.data = range_of(operation).bounce.data;
  if (post.call == RailCall::write_imm) post.call = RailCall::write;
  forward(operation, post);
}

void StagedRail::forwarded_ended(std::uint64_t operation) {
  switch (this->operation(operation).call) {
    case RailCall::send:
      return finish(operation);
    case RailCall::receive:
    case RailCall::read:
      return copy_in(operation);
    default:
      return send_request(operation, ControlType::write_arrived);
  }
}

void StagedRail::copy_in(std::uint64_t operation) {
  const StagedRange range = range_of(operation);
  copies_in().start(range.memory, range.bounce, [this, operation] { finish(operation); });
}

void StagedRail::send_request(std::uint64_t operation, ControlType type) {
  const RailPost& post = this->operation(operation);
  ControlMessage request;
  request.type = type;
  request.has_immediate = post.call == RailCall::write_imm ? 1 : 0;
  request.immediate = post.immediate;
  request.memory = post.remote.number;
  request.offset = post.remote_offset;
  request.bytes = post.bytes;
  request.operation = operation;
  send_control(post.peer, request);
}

void StagedRail::control_received(int peer, const ControlMessage& message) {
  if (message.type == ControlType::write_done) return finish(message.operation);
  if (message.type == ControlType::read_ready) return forward_bounce(message.operation);
  const auto found = registered_->find(message.memory);
  if (found == registered_->end()) return;  // freed after a failure: nobody waits for an answer
  const StagedRange range = range_of(*found->second, message.offset, message.bytes);
  if (message.type == ControlType::write_arrived) return copy_in_for(peer, message, range);
  copy_out_for(peer, message, range);
}

void StagedRail::copy_in_for(int peer, const ControlMessage& request, const StagedRange& range) {
  copies_in().start(range.memory, range.bounce, [this, peer, request] {
    if (request.has_immediate != 0) report_arrival(request.immediate);
    ControlMessage answer = request;
    answer.type = ControlType::write_done;
    send_control(peer, answer);
  });
}

void StagedRail::copy_out_for(int peer, const ControlMessage& request, const StagedRange& range) {
  copies_out().start(range.bounce, range.memory, [this, peer, request] {
    ControlMessage answer = request;
    answer.type = ControlType::read_ready;
    send_control(peer, answer);
  });
}

}  // namespace duet
