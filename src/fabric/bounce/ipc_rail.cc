#include "fabric/bounce/ipc_rail.h"

#include <fmt/format.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/packing.h"

namespace duet {

namespace {

// Descriptors of the memory that this process's rails have exported. A peer in the same process is
// reached by address, and only at addresses listed here: a descriptor from another process may
// claim to be of this one.
class ExportedHere {
 public:
  static ExportedHere& instance() {
    static ExportedHere all;
    return all;
  }
  void add(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    texts_.insert(text);
  }
  void remove(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    texts_.erase(texts_.find(text));
  }
  bool has(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return texts_.count(text) > 0;
  }

 private:
  std::mutex mutex_;
  std::multiset<std::string> texts_;
};

}  // namespace

struct IpcRail::ExportedMemory : RegisteredMemory {
  ExportedMemory(Device& device, const Span& mine) : memory(device.export_memory(mine)) {
    span = mine;
    ExportedHere::instance().add(memory.text());
  }
  ~ExportedMemory() override {
    ExportedHere::instance().remove(memory.text());
    span.owner->close_export(memory);
  }

  MemoryDescriptor memory;
};

std::unique_ptr<IndirectRail::RegisteredMemory> IpcRail::register_device_memory(const Span& span) {
  auto registered = std::make_unique<ExportedMemory>(device(), span);
  registered->number = ++last_number_;
  registered->text = pack({std::to_string(registered->number), registered->memory.text()});
  return registered;
}

std::shared_ptr<const RemoteMemory> IpcRail::import_device_memory(int peer,
                                                                  const std::string& descriptor) {
  const std::vector<std::string> items = unpack(descriptor);
  const MemoryDescriptor memory = MemoryDescriptor::parse(items.at(1));
  RemoteMemory remote;
  remote.number = std::stoull(items.at(0));
  if (memory.process == getpid() && memory.place == this_place()) {
    if (!ExportedHere::instance().has(items.at(1))) {
      throw Error("the peer's descriptor names memory of this process that is not exported");
    }
    remote.base = memory.segments.at(0).base + memory.offset;
    imported_[{peer, remote.number}] = {remote, memory.bytes};
    return std::make_shared<RemoteMemory>(remote);
  }
  const Span mapped = device().import_memory(memory);
  remote.base = reinterpret_cast<std::uintptr_t>(mapped.data);
  imported_[{peer, remote.number}] = {remote, memory.bytes};
  const auto unmap = [&on = device(), mapped](const RemoteMemory* gone) {
    delete gone;
    on.close_import(mapped);
  };
  return {new RemoteMemory(remote), unmap};
}

Span IpcRail::own_span(const RailPost& post) {
  return {&device(), post.data, post.bytes, MemoryKind::device};
}

Span IpcRail::peer_span(int peer, std::uint64_t number, std::uint64_t offset, std::uint64_t bytes) {
  const auto found = imported_.find({peer, number});
  if (found == imported_.end()) throw Error("the peer names memory that was not imported");
  const auto& [memory, all] = found->second;
  const Span whole{&device(), reinterpret_cast<std::byte*>(memory.base), all, MemoryKind::peer};
  try {
    return whole.slice(offset, bytes);
  } catch (const BadArgument& error) {
    throw Error(fmt::format("the peer's memory ends before: {}", error.what()));
  }
}

void IpcRail::start_operation(std::uint64_t operation) {
  const RailPost& post = this->operation(operation);
  const PeerAndTag key{post.peer, post.tag};
  switch (post.call) {
    case RailCall::send:
      return send_offer(operation);
    case RailCall::receive: {
      const auto offered = waiting_offers_.find(key);
      if (offered == waiting_offers_.end()) {
        waiting_receives_[key] = operation;
        return;
      }
      copy_offered(operation, offered->second);
      waiting_offers_.erase(offered);
      return;
    }
    case RailCall::read:
      return copies_in().start(
          own_span(post), peer_span(post.peer, post.remote.number, post.remote_offset, post.bytes),
          [this, operation] { finish(operation); });
    default:
      return copies_out().start(
          peer_span(post.peer, post.remote.number, post.remote_offset, post.bytes), own_span(post),
          [this, operation] { write_copied(operation); });
  }
}

void IpcRail::write_copied(std::uint64_t operation) {
  const RailPost& post = this->operation(operation);
  if (post.call == RailCall::write_imm) {
    ControlMessage message;
    message.type = ControlType::write_arrived;
    message.immediate = post.immediate;
    send_control(post.peer, message);
  }
  finish(operation);
}

void IpcRail::send_offer(std::uint64_t operation) {
  const RailPost& post = this->operation(operation);
  const RegisteredMemory& registered = memory_of(post);
  ControlMessage message;
  message.type = ControlType::send_offer;
  message.memory = registered.number;
  message.offset = static_cast<std::uint64_t>(post.data - registered.span.data);
  message.bytes = post.bytes;
  message.tag = post.tag;
  message.operation = operation;
  send_control(post.peer, message);
}

void IpcRail::copy_offered(std::uint64_t operation, const ControlMessage& offer) {
  const RailPost& post = this->operation(operation);
  if (offer.bytes > post.bytes) {
    throw Error("the peer sends more bytes than the receive has room for");
  }
  Span to = own_span(post);
  to.bytes = offer.bytes;
  copies_in().start(to, peer_span(post.peer, offer.memory, offer.offset, offer.bytes),
                    [this, operation, peer = post.peer, message = offer]() mutable {
                      message.type = ControlType::send_done;
                      send_control(peer, message);
                      finish(operation);
                    });
}

void IpcRail::control_received(int peer, const ControlMessage& message) {
  if (message.type == ControlType::write_arrived) return report_arrival(message.immediate);
  if (message.type == ControlType::send_done) return finish(message.operation);
  const auto waiting = waiting_receives_.find({peer, message.tag});
  if (waiting == waiting_receives_.end()) {
    waiting_offers_[{peer, message.tag}] = message;
    return;
  }
  const std::uint64_t operation = waiting->second;
  waiting_receives_.erase(waiting);
  copy_offered(operation, message);
}

}  // namespace duet
